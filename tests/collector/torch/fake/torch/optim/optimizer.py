# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
_pre, _post = [], []


def register_optimizer_step_pre_hook(hook):
    _pre.append(hook)


def register_optimizer_step_post_hook(hook):
    _post.append(hook)


class Optimizer:
    param_groups = ()
    state = {}

    def step(self):
        for hook in _pre:
            hook(self, (), {})
        self.update()
        for hook in _post:
            hook(self, (), {})

    def update(self):
        pass
