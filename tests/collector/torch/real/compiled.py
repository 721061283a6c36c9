# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a compiled network, and prints what PyTorch itself counts: compilations, breaks, and kernels in one step."""

import collections
import contextlib
import json
import sys

import torch
import torch._inductor.config
from torch.profiler import ProfilerActivity, profile, record_function

torch._inductor.config.cpp.enable_kernel_profile = True  # torch.profiler sees kernels only then
STEPS = 12


class Net(torch.nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.norm = torch.nn.LayerNorm(128)
        self.second = torch.nn.Linear(128, 10)
        self.breaks = breaks

    def forward(self, x):
        x = torch.nn.functional.gelu(self.norm(self.first(x)))
        if self.breaks:
            torch._dynamo.graph_break()
        return torch.log_softmax(self.second(x), 1)


def main():
    model = Net("breaks" in sys.argv)
    if "hooks" in sys.argv:
        model.first.register_forward_hook(lambda module, inputs, output: output * 2)
    compiled = model if "method" in sys.argv else torch.compile(model)
    if compiled is model:
        model.compile()
    eager = torch.nn.Linear(10, 10)
    optimizer = torch.optim.SGD([*model.parameters(), *eager.parameters()], lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    found = []
    for step in range(STEPS):
        size = 24 if "sizes" in sys.argv and step == STEPS // 2 else 16
        x, target = torch.randn(size, 64), torch.randint(10, (size,))
        last = step == STEPS - 1
        with profile(activities=[ProfilerActivity.CPU]) if last else contextlib.nullcontext() as seen:
            with record_function("compared" if last else "other"):
                loss = loss_of(eager(compiled(x)), target)
                loss.backward()
        if last:
            found = [event.name for event in seen.events()]
        optimizer.step()
        optimizer.zero_grad()
    kernels = collections.Counter(name.partition("cpp_fused")[2] for name in found if "cpp_fused" in name)
    from torch._dynamo.utils import counters, guard_failures

    print(json.dumps({
        "steps": STEPS,
        "kernels": {f"cpp_fused{name}": count for name, count in kernels.items()},
        "breaks": sum(counters["graph_break"].values()),
        "recompilations": sum(len(reasons) for reasons in guard_failures.values()),
        "frames": counters["frames"]["total"],
    }))


main()
