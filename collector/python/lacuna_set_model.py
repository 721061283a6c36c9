# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of `lacuna run --set` that a program's models get: amp, fuse, static_graph, channels_last; and those that are
applied when training begins: autotune, gc.

A model is the outermost module that is called in training mode with gradients switched on and has parameters to train.
Models are looked for during the first steps only; after that nothing is left in the way of calls but what the
settings themselves need."""

import atexit
import functools
import gc
import sys
import threading
import weakref

from lacuna_ledger import site

OF_MODELS = ("channels_last", "amp", "fuse", "static_graph")
STEPS_BEFORE_CHECK = 2  # of the first optimizer: a second one (of a discriminator) has stepped by then, too
MOST_MODELS = 16  # a program that calls layers one by one has no outermost module


def outputs_in(dtype, value, kind):
    """The value with tensors of the reduced type made `dtype` again, in lists, tuples and dictionaries."""
    if isinstance(value, kind):
        return value.to(dtype) if value.dtype != dtype and value.is_floating_point() else value
    if isinstance(value, dict):
        changed = {name: outputs_in(dtype, each, kind) for name, each in value.items()}
        if type(value) is dict:
            return changed
        for name, each in changed.items():  # a class of a library's own, as Transformers' outputs
            value[name] = each
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(outputs_in(dtype, each, kind) for each in value))
    if type(value) in (list, tuple):
        return type(value)(outputs_in(dtype, each, kind) for each in value)
    return value


class Models:
    """Finds the program's models and gives each of them the settings."""

    def __init__(self, torch, settings):
        self.torch = torch
        self.settings = settings
        self.seen = weakref.WeakSet()
        self.reduced = weakref.WeakSet()  # with amp
        self.reordered = weakref.WeakSet()  # with channels_last
        self.kinds = weakref.WeakSet()  # classes whose call is ours
        self.local = threading.local()
        self.found = 0
        self.flattened = False  # an optimizer has stepped that flattens gradients

    # --- finding them

    def install(self):
        module = self.torch.nn.modules.module.Module
        self.original = module.__call__
        models = self

        def __call__(self, *arguments, **named):
            if models.local.__dict__.get("inside"):
                return models.original(self, *arguments, **named)
            models.local.inside = True
            try:
                if models.is_model(self):
                    return models.first_call(self, arguments, named)
                return models.original(self, *arguments, **named)
            finally:
                models.local.inside = False

        self.ours = __call__
        module.__call__ = __call__

    def uninstall(self):
        module = self.torch.nn.modules.module.Module
        if module.__call__ is self.ours:
            module.__call__ = self.original

    def is_model(self, module):
        if module in self.seen or not getattr(module, "training", False) or not self.torch.is_grad_enabled():
            return False
        return any(parameter.requires_grad for parameter in module.parameters())

    def first_call(self, model, arguments, named):
        self.seen.add(model)
        self.found += 1
        if self.found > MOST_MODELS:
            for name in OF_MODELS:
                self.refuse(name, model, f"more than {MOST_MODELS} modules are called from outside of any module")
            self.uninstall()
            return model(*arguments, **named)
        self.change_call(model)
        for name in ("amp", "channels_last"):
            if name in self.settings:
                self.attempt(name, model)
        active = [name for name, models in (("amp", self.reduced), ("channels_last", self.reordered)) if model in models]
        failed = []
        while True:
            try:
                result = self.first_compiled_call(model, arguments, named)
                break
            except Exception as error:
                if not active:
                    raise  # the program's own
                failed.append((active.pop(), f"the model fails with it: {type(error).__name__}: {error}"))
                getattr(self, f"undo_{failed[-1][0]}")(model)
        for name, why in failed:
            self.refuse(name, model, why)
        for name in active:
            if name == "amp" or model in self.reordered:
                self.settings[name].applied(type(model).__name__, self.WAS[name], site(self.torch))
        return result

    WAS = {"amp": "float32", "channels_last": "contiguous"}

    def refuse(self, name, model, why):
        if name in self.settings:
            self.settings[name].refused(type(model).__name__, why, site(self.torch))

    def attempt(self, name, model):
        try:
            getattr(self, name)(model)
        except Exception as error:
            self.refuse(name, model, f"{type(error).__name__}: {error}")

    # --- what is wrapped around a model's calls

    def change_call(self, model):
        """The class's call, and not the model's own attribute: a copy of the model must not call the first one."""
        if not {"amp", "channels_last"} & self.settings.keys() or type(model) in self.kinds:
            return
        kind = type(model)
        self.kinds.add(kind)
        own = vars(kind).get("__call__")
        models = self

        def __call__(self, *arguments, **named):
            call = own.__get__(self) if own is not None else super(kind, self).__call__
            if self in models.reordered:
                arguments = tuple(models.channels_last_input(each) for each in arguments)
                named = {name: models.channels_last_input(each) for name, each in named.items()}
            device = models.device_to_reduce(self)
            if device is None:
                return call(*arguments, **named)
            with models.torch.autocast(device, dtype=models.torch.bfloat16):
                result = call(*arguments, **named)
            return outputs_in(models.torch.float32, result, models.torch.Tensor)

        kind.__call__ = functools.wraps(own)(__call__) if own is not None else __call__

    def device_to_reduce(self, model):
        """None where the call stays as it is: in an evaluation, and where the program has an autocast of its own."""
        if model not in self.reduced or not model.training or not self.torch.is_grad_enabled():
            return None
        device = self.device_of(model)
        return None if self.is_autocast(device) else device

    def is_autocast(self, device):
        try:
            return self.torch.is_autocast_enabled(device)
        except TypeError:  # before PyTorch 2.4
            return self.torch.is_autocast_enabled()

    @staticmethod
    def device_of(model):
        return next(model.parameters()).device.type

    # --- the settings

    def amp(self, model):
        setting, thing, place = self.settings["amp"], type(model).__name__, site(self.torch)
        device = self.device_of(model)
        kinds = {parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()}
        if kinds != {self.torch.float32}:
            words = ", ".join(sorted(str(kind) for kind in kinds))
            return setting.refused(thing, f"its parameters are {words}, and only float32 is reduced", place)
        if device == "cuda" and not self.torch.cuda.is_bf16_supported():
            return setting.refused(thing, "the GPU has no bfloat16", place)
        if self.is_autocast(device):
            return setting.same(thing, place)
        self.reduced.add(model)
        return None

    def undo_amp(self, model):
        self.reduced.discard(model)

    def channels_last(self, model):
        setting, thing, place = self.settings["channels_last"], type(model).__name__, site(self.torch)
        if not any(parameter.dim() == 4 for parameter in model.parameters()):
            return setting.refused(thing, "it has no parameter of four dimensions, so no 2-D convolution", place)
        layout = self.torch.channels_last
        if all(p.is_contiguous(memory_format=layout) for p in model.parameters() if p.dim() == 4 and min(p.shape[1:]) > 1):
            return setting.same(thing, place)
        if self.flattened:
            return setting.refused(thing, self.FLATTENS, place)
        model.to(memory_format=layout)
        self.reordered.add(model)
        return None

    FLATTENS = "LBFGS flattens gradients, which it cannot in this layout"

    def undo_channels_last(self, model):
        self.reordered.discard(model)
        model.to(memory_format=self.torch.contiguous_format)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad = parameter.grad.contiguous()

    def steps(self, optimizer, arguments, named):
        """Before each step: its closure may call the model for the first time."""
        if type(optimizer).__name__ != "LBFGS" or self.flattened:
            return
        self.flattened = True
        for model in list(self.reordered):
            self.undo_channels_last(model)
            self.refuse("channels_last", model, self.FLATTENS)

    def channels_last_input(self, value):
        if isinstance(value, self.torch.Tensor) and value.dim() == 4:
            return value.contiguous(memory_format=self.torch.channels_last)
        return value

    def compile_settings(self, model):
        """Those of fuse and static_graph that can be applied, refused ones left out."""
        wanted = [self.settings[name] for name in ("fuse", "static_graph") if name in self.settings]
        thing = type(model).__name__
        if wanted and (getattr(model, "_compiled_call_impl", None) is not None or thing == "OptimizedModule"):
            for setting in wanted:
                setting.same(thing, site(self.torch))
            return []
        if "static_graph" in self.settings and self.device_of(model) != "cuda":
            self.refuse("static_graph", model, "its parameters are not on a GPU, where alone there are graphs to replay")
            wanted.remove(self.settings["static_graph"])
        return wanted

    def first_compiled_call(self, model, arguments, named):
        wanted = self.compile_settings(model)
        if not wanted:
            return model(*arguments, **named)
        self.uninstall()  # the compiler shall see PyTorch's own call in it
        try:
            try:
                mode = "reduce-overhead" if self.settings.get("static_graph") in wanted else None
                model.compile(**({"mode": mode} if mode else {}))
                result = model(*arguments, **named)
            except Exception as error:
                model._compiled_call_impl = None
                result = model(*arguments, **named)  # where it is the program's own error, it comes again
                for setting in wanted:
                    self.refuse(setting.name, model, f"it could not be compiled: {type(error).__name__}: {error}")
                return result
            for setting in wanted:
                setting.applied(type(model).__name__, "eager", site(self.torch))
            return result
        finally:
            if not self.over():
                self.torch.nn.modules.module.Module.__call__ = self.ours

    def over(self):
        return self.found > MOST_MODELS

    def step_ended(self):
        """Graphs that are replayed hand out the same memory again from here on."""
        if "static_graph" in self.settings:
            mark = getattr(getattr(self.torch, "compiler", None), "cudagraph_mark_step_begin", None)
            if mark is not None:
                mark()


class Beginning:
    """Applies its settings when a program has trained its first step: by then the devices that it uses are known."""

    def __init__(self, torch, settings, models):
        self.torch = torch
        self.settings = settings
        self.models = models
        self.first = lambda: None  # the first optimizer that stepped
        self.steps = 0

    def install(self):
        hooks = sys.modules["torch.optim.optimizer"]
        hooks.register_optimizer_step_post_hook(self.stepped)
        if "channels_last" in self.settings:
            hooks.register_optimizer_step_pre_hook(self.models.steps)

    def stepped(self, optimizer, arguments, named):
        if self.first() is None:
            self.first = weakref.ref(optimizer)
        if self.first() is not optimizer:
            return
        self.steps += 1
        if self.models is not None:
            self.models.step_ended()
            if self.steps == STEPS_BEFORE_CHECK:
                self.models.uninstall()
        if self.steps == 1:
            self.begin()

    def begin(self):
        for name in ("autotune", "gc"):
            if name in self.settings:
                try:
                    getattr(self, name)(self.settings[name])
                except Exception as error:
                    self.settings[name].refused("process", f"{type(error).__name__}: {error}")

    def autotune(self, setting):
        cudnn = self.torch.backends.cudnn
        if not self.torch.cuda.is_initialized():
            return setting.refused("process", "it does not use a GPU, and only cuDNN searches")
        if cudnn.deterministic or self.torch.are_deterministic_algorithms_enabled():
            return setting.refused("process", "it asks for deterministic algorithms, which a search may not keep")
        if cudnn.benchmark:
            return setting.same("process")
        cudnn.benchmark = True
        return setting.applied("process", "off")

    def gc(self, setting):
        gc.collect()
        gc.freeze()
        atexit.register(gc.unfreeze)  # libraries count what is left when Python ends
        setting.applied("process", "off")


def install(torch, settings, attempt):
    models = None
    if any(name in settings for name in OF_MODELS):
        models = Models(torch, settings)
        attempt(next(settings[name] for name in OF_MODELS if name in settings), models.install)
    if models is not None or "autotune" in settings or "gc" in settings:
        beginning = Beginning(torch, settings, models)
        attempt(next(iter(settings.values())), beginning.install)
