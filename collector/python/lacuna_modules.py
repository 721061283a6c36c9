# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The forward of each module."""

import functools
import sys
import threading
import time
import weakref

import lacuna_start


class StackCost:
    """How long anomaly detection takes to keep the Python stack of one node of the graph: it formats the stack for each.
    Measured where it happens, in the innermost modules, for it depends on how deep they are called."""

    SAMPLES = 9

    def __init__(self, torch, emitter):
        self.enabled = getattr(torch, "is_anomaly_enabled", lambda: False)
        self.emitter = emitter
        self.samples = []

    def in_module(self, module):
        if len(self.samples) == self.SAMPLES:  # detection was switched on once more
            self.emitter.call_inside_modules(0)
            return
        if getattr(module, "_modules", None) or not self.enabled():
            return
        import traceback  # only here, for few programs need it

        began = time.perf_counter_ns()
        traceback.format_stack()
        self.samples.append(time.perf_counter_ns() - began)
        if len(self.samples) == self.SAMPLES:
            self.emitter.call_inside_modules(0)
            middle = sorted(self.samples)[self.SAMPLES // 2]
            self.emitter.knob(b"debug.stack_ns", str(middle).encode())


class Owners:
    """The module that each module was made a part of. A program may call a part and never the whole: Lightning calls a
    method of the module whose parts compute."""

    def __init__(self, torch):
        self.kind = torch.nn.Module
        self.owners = {}  # by id of the part: the part and its owner, as weak references
        module = getattr(torch.nn.modules, "module", None)
        register = getattr(module, "register_module_module_registration_hook", None)
        self.handle = register(self.add) if register is not None else None

    def add(self, owner, name, part):
        if isinstance(part, self.kind):
            number = id(part)
            self.owners[number] = (weakref.ref(part, functools.partial(self.forget, number)), weakref.ref(owner))

    def forget(self, number, reference):
        if self.owners.get(number, (None,))[0] is reference:
            del self.owners[number]

    def of(self, part):
        """None for a module that is no part, and for one that has been taken out again."""
        reference, owner = self.owners.get(id(part), (lambda: None, lambda: None))
        owner = owner() if reference() is part else None
        return owner if owner is not None and any(each is part for each in owner._modules.values()) else None

    def outermost(self, part):
        seen = set()
        owner = self.of(part)
        while owner is not None and id(owner) not in seen:
            seen.add(id(owner))
            part, owner = owner, self.of(owner)
        return part


_owners = []  # at most one: a program on standby is watched several times


def owners_of(torch):
    if not _owners:
        _owners.append(Owners(torch))
    return _owners[0]


def leave_owners():
    while _owners:
        handle = _owners.pop().handle
        if handle is not None:
            handle.remove()


class Modules:
    """A range for every module's forward, named by its path in the module that all is part of, and the phase of the
    outermost one called. The library wraps each call; PyTorch's own hooks take ten times as long. Here is what happens
    once for a module."""

    def __init__(self, torch, emitter, steps, compilations):
        self.torch = torch
        self.emitter = emitter
        self.steps = steps
        self.compilations = compilations
        self.owners = owners_of(torch)
        self.known = {}  # by id
        self.original = None  # Module.__call__ as it was when ours took its place
        self.ours = None
        self.lock = threading.RLock()
        self.pauses = 0
        self.removed = False  # while paused
        modules = torch.nn.modules
        self.norms = self.kinds(modules, ("batchnorm", "_BatchNorm"))
        self.biased = self.kinds(modules, ("linear", "Linear"), ("conv", "_ConvNd"))
        self.stack_cost = StackCost(torch, emitter)

    @staticmethod
    def kinds(modules, *names):
        found = (getattr(getattr(modules, file, None), name, None) for file, name in names)
        return tuple(kind for kind in found if kind is not None)

    def install(self):
        self.take_place_of(self.torch.nn.Module.__dict__["__call__"])
        self.emitter.watch_modules(1)
        self.leave_to_compiler()

    def take_place_of(self, call):
        self.original = call
        module = self.torch.nn.Module
        self.ours = self.emitter.module_calls(
            module, call, self.torch.is_grad_enabled, self.steps.begin, self.learn, self.find_bias, self.stack_cost.in_module)
        module.__call__ = self.ours

    def pause(self):
        """Puts PyTorch's own call back, until as many calls of resume()."""
        with self.lock:
            self.pauses += 1
            if self.pauses > 1:
                return
            self.emitter.watch_modules(0)
            module = self.torch.nn.Module
            self.removed = module.__dict__["__call__"] is self.ours  # else the program has wrapped it
            if self.removed:
                module.__call__ = self.original

    def resume(self):
        with self.lock:
            self.pauses -= 1
            if self.pauses > 0:
                return
            self.emitter.watch_modules(1)
            module = self.torch.nn.Module
            current = module.__dict__["__call__"]
            if self.removed and current is self.original:
                module.__call__ = self.ours
            elif self.removed:  # wrapped meanwhile
                self.take_place_of(current)

    def leave_to_compiler(self):
        """The compiler cannot look into our calls. So PyTorch's own is back while torch.compile, or an export, begins,
        while code is compiled, and while the compiler itself is imported, which compares calls with the one it then finds."""
        self.leave_to(self.torch, "compile")
        self.leave_to(getattr(self.torch, "export", None), "export")
        self.compilations.listeners.append((self.pause, self.resume))
        if "torch._dynamo" in sys.modules:
            self.leave_to_dynamo(sys.modules["torch._dynamo"])
        else:
            lacuna_start.after_import("torch._dynamo", self.meet_dynamo, self.pause)

    def meet_dynamo(self, dynamo):
        self.resume()
        self.leave_to_dynamo(dynamo)

    def leave_to_dynamo(self, dynamo):
        for name in ("optimize", "optimize_assert", "export", "explain"):
            self.leave_to(dynamo, name)

    def leave_to(self, holder, name):
        original = getattr(holder, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def compile(*arguments, **named):
            self.pause()
            try:
                return original(*arguments, **named)
            finally:
                self.resume()

        setattr(holder, name, compile)

    def is_known(self, module):
        known = self.known.get(id(module))
        return known is not None and known() is module

    def learn(self, root):
        """Names a module, and all that it is part of the same whole with."""
        if self.is_known(root):
            return
        self.name_parts(self.owners.outermost(root))
        if not self.is_known(root):  # the whole does not list it
            self.name_parts(root)

    def name_parts(self, root):
        kind = type(vars(root).get("_modules", {}).get("_orig_mod", root)).__name__  # a compiled model holds the program's
        for path, module in root.named_modules():
            path = path.removeprefix("_orig_mod").removeprefix(".")
            number = id(module)
            self.known[number] = weakref.ref(module, functools.partial(self.forget, number))
            is_norm = bool(self.norms) and isinstance(module, self.norms)
            self.emitter.name_module(number, f"{kind}.{path}".encode() if path else kind.encode(), is_norm)

    def forget(self, number, reference):
        if self.known.get(number) is reference:
            del self.known[number]
            self.emitter.forget_module(number)

    def find_bias(self, norm, leaf):
        """A batch norm subtracts the bias again that the layer in front of it adds. `leaf` is that layer's id."""
        reference = self.known.get(leaf)
        layer = reference() if reference is not None else None
        if self.norms and isinstance(layer, self.biased) and getattr(layer, "bias", None) is not None:
            self.norms = ()  # once is enough
            self.emitter.knob(b"conv_bias", b"on")
