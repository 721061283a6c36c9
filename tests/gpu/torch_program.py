# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program with a stated part to measure. `profile`: under PyTorch's profiler, printing {kernel: [count, ns]} of
that part; `plain`: the same work with an NVTX range "measured" around it."""

import collections
import json
import sys

import torch

N, ROUNDS = 4096, 50


def work(a, b):
    for _ in range(ROUNDS):
        c = torch.mm(a, b)
        torch.relu_(c)
    torch.cuda.synchronize()


def main():
    a = torch.randn(N, N, device="cuda")
    b = torch.randn(N, N, device="cuda")
    for _ in range(3):  # warm: kernels are chosen and loaded, clocks are up
        work(a, b)
    if sys.argv[1] == "plain":
        torch.cuda.nvtx.range_push("measured")
        work(a, b)
        torch.cuda.nvtx.range_pop()
        return
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        work(a, b)
    kernels = collections.defaultdict(lambda: [0, 0])
    for event in profile.profiler.kineto_results.events():
        if event.device_type() == torch.autograd.DeviceType.CUDA and not event.name().startswith(("Mem", "cuda")):
            entry = kernels[event.name()]
            entry[0] += 1
            entry[1] += event.duration_ns()
    print(json.dumps(kernels))


if __name__ == "__main__":
    main()
