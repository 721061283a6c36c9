# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import sys

_before, _after = {}, {}


class Handle:
    def __init__(self, hooks, hook):
        self.hooks = hooks
        hooks[id(self)] = hook

    def remove(self):
        self.hooks.pop(id(self), None)


def register_module_forward_pre_hook(hook):
    return Handle(_before, hook)


def register_module_forward_hook(hook, always_call=False):
    return Handle(_after, hook)


class Module:
    training = True
    _compiled_call_impl = None

    def parameters(self):
        for _, module in self.named_modules():
            yield from (each for each in vars(module).values() if isinstance(each, sys.modules["torch"].Tensor))

    def zero_grad(self, set_to_none=True):
        print("module cleared", set_to_none)

    def compile(self, **options):
        sys.modules["torch"].compile(lambda: None, **options)
        self._compiled_call_impl = options

    def to(self, memory_format):
        for parameter in self.parameters():
            parameter.layout = memory_format

    def train(self, mode=True):
        self.training = mode

    def eval(self):
        self.train(False)
        return self

    def __call__(self, *arguments, **named):
        for hook in list(_before.values()):
            hook(self, arguments)
        result = None
        try:
            result = self.forward(*arguments, **named)
        finally:
            for hook in list(_after.values()):
                hook(self, arguments, result)
        return result

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in vars(self).items():
            if isinstance(child, Module):
                yield from child.named_modules(f"{prefix}.{name}" if prefix else name)


class Identity(Module):
    def forward(self, value):
        return value


class Sequential(Module):
    def __init__(self, *modules):
        self.__dict__.update({str(number): module for number, module in enumerate(modules)})

    def forward(self, value):
        for name, module in list(vars(self).items()):
            if isinstance(module, Module):
                value = module(value)
        return value
