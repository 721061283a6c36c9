# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Prints what a small operator, one with gradients, and an empty module cost in ns: cost.py [dispatch|profiler|shapes|full]"""

import contextlib
import sys
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

torch.set_num_threads(1)


class Observer(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        return function(*arguments, **(named or {}))


def observed():
    way = sys.argv[1] if len(sys.argv) > 1 else ""
    if way == "dispatch":
        return Observer()
    if way in ("profiler", "shapes", "full"):
        full = way == "full"
        return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=full or way == "shapes",
                                      profile_memory=full, with_stack=full)
    return contextlib.nullcontext()


def cost(function, calls=20000, rounds=7):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e9


a = torch.ones(4)
b = torch.ones(4, requires_grad=True)
module = torch.nn.Identity()
with observed():
    if len(sys.argv) > 1:
        print(f"add {cost(lambda: a + a, 2000, 3):.0f} neg {cost(b.neg, 2000, 3):.0f} module {cost(lambda: module(a), 2000, 3):.0f}")
    else:
        print(f"add {cost(lambda: a + a):.0f} neg {cost(b.neg):.0f} module {cost(lambda: module(a)):.0f}")
