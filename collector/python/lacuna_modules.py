# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The forward of each module."""

import functools
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


class Modules:
    """A range for every module's forward, named by its path in the outermost module called, and the phase of that one.
    The library wraps each call; PyTorch's own hooks take ten times as long. Here is what happens once for a module."""

    def __init__(self, torch, emitter, steps):
        self.torch = torch
        self.emitter = emitter
        self.steps = steps
        self.known = {}  # by id
        self.original = None  # Module.__call__, while ours is in its place
        self.ours = None
        modules = torch.nn.modules
        self.norms = self.kinds(modules, ("batchnorm", "_BatchNorm"))
        self.biased = self.kinds(modules, ("linear", "Linear"), ("conv", "_ConvNd"))
        self.stack_cost = StackCost(torch, emitter)

    @staticmethod
    def kinds(modules, *names):
        found = (getattr(getattr(modules, file, None), name, None) for file, name in names)
        return tuple(kind for kind in found if kind is not None)

    def install(self):
        self.resume()
        self.install_compile()

    def resume(self):
        module = self.torch.nn.Module
        self.original = module.__dict__["__call__"]
        self.ours = self.emitter.module_calls(
            module, self.original, self.torch.is_grad_enabled, self.steps.begin, self.learn, self.find_bias,
            self.stack_cost.in_module)
        self.emitter.watch_modules(1)
        module.__call__ = self.ours

    def pause(self):
        """Puts PyTorch's own call back. False when it was there, as after torch.compile."""
        if self.original is None:
            return False
        self.emitter.watch_modules(0)
        module = self.torch.nn.Module
        if module.__dict__["__call__"] is self.ours:  # else the program has wrapped it
            module.__call__ = self.original
        self.original = None
        return True

    def install_compile(self):
        """The compiler cannot look into our calls, so they go when the program compiles for the first time. The compiled
        function's calls are then the forward phase. What is exported is for another program, so they come back."""
        self.leave_to(self.torch, "compile")
        self.leave_to(getattr(self.torch, "export", None), "export", returns=True)
        lacuna_start.after_import("torch._dynamo", self.leave_to_dynamo)

    def leave_to_dynamo(self, dynamo):
        for name in ("optimize", "optimize_assert", "export", "explain"):
            self.leave_to(dynamo, name)

    def leave_to(self, holder, name, returns=False):
        original = getattr(holder, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def compile(*arguments, **named):
            paused = self.pause()
            try:
                return original(*arguments, **named)
            finally:
                if paused and returns:
                    self.resume()

        setattr(holder, name, compile)

    def is_known(self, module):
        known = self.known.get(id(module))
        return known is not None and known() is module

    def learn(self, root):
        """Names a module and all in it."""
        if self.is_known(root):
            return
        kind = type(root).__name__
        for path, module in root.named_modules():
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
