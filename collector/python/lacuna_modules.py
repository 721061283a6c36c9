# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The forward of each module, the forward phase, and evaluations."""

import functools
import threading
import time
import weakref

from lacuna_emitter import MODULE, PHASE, ROLES


class StackCost:
    """How long anomaly detection takes to keep the Python stack of one node of the graph: it formats the stack for each.
    Measured where it happens, in the innermost modules, for it depends on how deep they are called."""

    SAMPLES = 9

    def __init__(self, torch, emitter):
        self.enabled = getattr(torch, "is_anomaly_enabled", lambda: False)
        self.emitter = emitter
        self.wanted = False
        self.samples = []

    def forward_begins(self):
        self.wanted = len(self.samples) < self.SAMPLES and self.enabled()

    def in_module(self, module):
        if getattr(module, "_modules", None):
            return
        import traceback  # only here, for few programs need it

        began = time.perf_counter_ns()
        traceback.format_stack()
        self.samples.append(time.perf_counter_ns() - began)
        if len(self.samples) == self.SAMPLES:
            self.wanted = False
            middle = sorted(self.samples)[self.SAMPLES // 2]
            self.emitter.knob(b"debug.stack_ns", str(middle).encode())


class Modules:
    """A range for every module's forward, named by its path in the outermost module called. The outermost one with
    gradients switched on is the forward phase. In evaluation mode it is the evaluation, with or without gradients."""

    def __init__(self, torch, emitter, steps):
        self.torch = torch
        self.emitter = emitter
        self.steps = steps
        self.paths = {}
        self.local = threading.local()
        self.handles = []
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
        module = self.torch.nn.modules.module
        before, after = self.before, self.after
        try:
            after_handle = module.register_module_forward_hook(after, always_call=True)
        except TypeError:  # PyTorch before 2.0
            after_handle = module.register_module_forward_hook(after)
        self.local = threading.local()
        self.handles = [module.register_module_forward_pre_hook(before), after_handle]

    def pause(self):
        """Removes the hooks. False when there were none, as after torch.compile."""
        handles, self.handles = self.handles, []
        for handle in handles:
            handle.remove()
        return bool(handles)

    def install_compile(self):
        """Hooks inside compiled code would cut it into pieces, so they go when the program compiles for the first time.
        The compiled function's calls are then the forward phase."""
        original = getattr(self.torch, "compile", None)
        if original is None:
            return

        @functools.wraps(original)
        def compile(*arguments, **named):
            self.pause()
            return original(*arguments, **named)

        self.torch.compile = compile

    def path(self, module):
        found = self.paths.get(id(module))
        return found[1] if found is not None and found[0]() is module else type(module).__name__.encode()

    def learn(self, root):
        known = self.paths.get(id(root))
        if known is not None and known[0]() is root:
            return
        kind = type(root).__name__
        for path, module in root.named_modules():
            name = f"{kind}.{path}" if path else kind
            self.paths[id(module)] = (weakref.ref(module), name.encode())

    def before(self, module, arguments):
        stack = self.local.__dict__.setdefault("stack", [])
        if not stack:
            if not getattr(module, "training", True):
                stack.append((None, self.emitter.open(PHASE, b"evaluation")))
            elif self.torch.is_grad_enabled():
                self.steps.begin()
                if not self.handles:  # the step that has begun is a plain one, in which modules are not watched
                    return
                stack.append((None, self.emitter.open(PHASE, b"forward")))
                self.emitter.role(ROLES["activation"])
                self.stack_cost.forward_begins()
            self.learn(module)
        if self.norms and isinstance(module, self.norms):
            self.find_bias(module)
        if self.stack_cost.wanted:
            self.stack_cost.in_module(module)
        stack.append((module, self.emitter.open(MODULE, self.path(module))))

    def find_bias(self, norm):
        """A batch norm subtracts the bias again that the layer in front of it adds."""
        layer = self.local.__dict__.get("leaf")
        if isinstance(layer, self.biased) and getattr(layer, "bias", None) is not None:
            self.norms = ()  # once is enough
            self.emitter.knob(b"conv_bias", b"on")

    def after(self, module, arguments, result):
        stack = self.local.__dict__.get("stack")
        if not stack:
            return
        while stack:
            owner, level = stack.pop()
            if owner is module:
                self.emitter.close(level)
                if self.norms and not getattr(module, "_modules", None):
                    self.local.leaf = module
                break
        if len(stack) == 1 and stack[0][0] is None:
            self.emitter.close(stack.pop()[1])
            self.emitter.role(0)
