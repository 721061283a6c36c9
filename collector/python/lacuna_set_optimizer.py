# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of optimizers: optimizer.fused and zero_grad."""

import functools
import inspect
import sys
import threading
import weakref

from lacuna_ledger import site


class FusedOptimizer:
    """optimizer.fused: changes the constructor's arguments, so that PyTorch's own checks decide. Where PyTorch has no
    fused form for these parameters, the setting chooses operators over lists of tensors (foreach)."""

    def __init__(self, torch, setting):
        self.torch = torch
        self.setting = setting
        self.local = threading.local()
        self.fused = weakref.WeakKeyDictionary()  # those whose first step is still to be checked, and what is then reported

    def install(self):
        optim = self.torch.optim
        for kind in list(vars(optim).values()):
            if inspect.isclass(kind) and issubclass(kind, optim.Optimizer):
                self.wrap(kind)
        sys.modules["torch.optim.optimizer"].register_optimizer_step_pre_hook(self.before_step)

    def wrap(self, kind):
        original = vars(kind).get("__init__")
        if original is None or kind is self.torch.optim.Optimizer:
            return
        signature = inspect.signature(original)
        mine = self

        @functools.wraps(original)
        def __init__(self, *arguments, **named):
            if mine.local.__dict__.get("inside"):  # AdamW calls Adam
                return original(self, *arguments, **named)
            mine.local.inside = True
            try:
                return mine.construct(self, original, signature, arguments, named)
            finally:
                mine.local.inside = False

        kind.__init__ = __init__

    def construct(self, optimizer, original, signature, arguments, named):
        try:
            bound = signature.bind(optimizer, *arguments, **named)
        except TypeError:
            return original(optimizer, *arguments, **named)  # which explains it
        given = bound.arguments
        place, thing = site(self.torch), type(optimizer).__name__
        known = signature.parameters
        was = "fused" if given.get("fused") else "foreach" if given.get("foreach") else "loop"
        if "foreach" not in known and "fused" not in known:
            self.setting.refused(thing, "it has no form that updates all parameters at once", place)
            return original(*bound.args, **bound.kwargs)
        given["params"] = listed(given.get("params"))
        why = ""
        for form, change in self.forms(known):
            if form == was:
                self.setting.same(thing, place)
                break
            why_not = self.why_not_fused(given["params"]) if form == "fused" else None
            if why_not is not None:
                why = why_not
                continue
            changed = signature.bind(*bound.args, **bound.kwargs)
            changed.arguments.update({name: value for name, value in change.items() if name in known})
            try:
                original(*changed.args, **changed.kwargs)
            except (RuntimeError, ValueError) as error:
                why = f"PyTorch refuses: {error}"
                continue
            report = (thing, f"{was}, now {form}" + (f": {why}" if why else ""), place)
            if form == "fused":
                self.fused[optimizer] = report
            else:
                self.setting.applied(*report)
            return None
        else:
            self.setting.refused(thing, why, place)
        return original(*bound.args, **bound.kwargs)

    def forms(self, known):
        if not self.setting.on:
            return [("loop", {"fused": False, "foreach": False})]
        fused = [("fused", {"fused": True, "foreach": None})] if "fused" in known else []
        return [*fused, ("foreach", {"fused": None, "foreach": True})]

    def why_not_fused(self, params):
        for parameter in tensors_of(params):
            why = self.why_not_of(parameter)
            if why is not None:
                return why
        return None

    def why_not_of(self, parameter):
        check = getattr(sys.modules["torch.optim.optimizer"], "_device_dtype_check_for_fused", None)
        if check is None:
            return None
        try:
            check(parameter)
        except RuntimeError:
            return f"no fused form for {parameter.dtype} on {parameter.device.type}"
        return None

    def before_step(self, optimizer, arguments, named):
        """Parameters may have moved since, and only now gradients show whether they are sparse."""
        report = self.fused.pop(optimizer, None)
        if report is None:
            return
        thing, _, place = report
        refused = []
        for group in optimizer.param_groups:
            sparse = any(each.grad is not None and each.grad.is_sparse for each in group["params"])
            why = "sparse gradients" if sparse else self.why_not_fused(group["params"])
            if why is not None:
                group["fused"], group["foreach"] = False, None
                refused.append(why)
        if len(refused) < len(optimizer.param_groups):
            self.setting.applied(*report)
        for why in refused:
            self.setting.refused(f"group of {thing}", why, place)


def listed(params):
    """A generator can be read once, and PyTorch may refuse at the first attempt."""
    if not hasattr(params, "__iter__") or hasattr(params, "untyped_storage"):
        return params
    params = list(params)
    for group in params:
        if isinstance(group, dict) and not hasattr(group.get("params"), "untyped_storage"):
            group["params"] = list(group["params"])
    return params


def tensors_of(params):
    for each in params:
        if isinstance(each, dict):
            inner = each["params"]
            yield from [inner] if hasattr(inner, "untyped_storage") else inner
        else:
            yield each[1] if isinstance(each, tuple) else each


class DroppedGradients:
    """zero_grad=none: set_to_none, whatever the program passes."""

    def __init__(self, torch, setting):
        self.torch = torch
        self.setting = setting
        self.seen = weakref.WeakSet()

    def install(self):
        for kind in (self.torch.optim.Optimizer, self.torch.nn.modules.module.Module):
            self.wrap(kind)

    def wrap(self, kind):
        original = getattr(kind, "zero_grad", None)
        if original is None:
            return
        mine = self

        @functools.wraps(original)
        def zero_grad(self, set_to_none=True):
            if self not in mine.seen:
                mine.seen.add(self)
                note = mine.setting.same if set_to_none else functools.partial(mine.setting.applied, was="zeros")
                note(type(self).__name__, place=site(mine.torch))
            return original(self, set_to_none=True)

        kind.zero_grad = zero_grad
