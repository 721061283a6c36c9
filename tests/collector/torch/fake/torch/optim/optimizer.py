# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
_pre, _post = [], []


def register_optimizer_step_pre_hook(hook):
    _pre.append(hook)


def register_optimizer_step_post_hook(hook):
    _post.append(hook)


def _device_dtype_check_for_fused(parameter):
    if parameter.dtype != "float32":
        raise RuntimeError("no such kernel")


class Optimizer:
    param_groups = ()
    state = {}

    def zero_grad(self, set_to_none=True):
        print("cleared", set_to_none)

    def step(self):
        for hook in _pre:
            hook(self, (), {})
        self.update()
        for hook in _post:
            hook(self, (), {})

    def update(self):
        pass


class Adam(Optimizer):
    def __init__(self, params, lr=1e-3, foreach=None, fused=None, differentiable=False):
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self.param_groups = [{"params": list(params), "fused": fused, "foreach": foreach}]
        self.form = "fused" if fused else "foreach" if foreach else "loop"


class AdamW(Adam):
    def __init__(self, params, lr=1e-3, foreach=None, fused=None, differentiable=False):
        super().__init__(params, lr, foreach, fused, differentiable)


class LBFGS(Optimizer):
    def __init__(self, params, lr=1):
        self.form = "line search"
