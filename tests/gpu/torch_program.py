# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program with a stated part to measure. `profile FILE`: under PyTorch's profiler, whose trace of that part goes
into the file; `plain`: the same work with an NVTX range "measured" around it."""

import sys

import torch

N, ROUNDS = 4096, 50


def work(a, b, host):
    for _ in range(ROUNDS):
        c = torch.mm(a, b)
        torch.relu_(c)
    c.copy_(host, non_blocking=True)
    host.copy_(b, non_blocking=True)
    a.copy_(b)
    torch.cuda.synchronize()


def main():
    a = torch.randn(N, N, device="cuda")
    b = torch.randn(N, N, device="cuda")
    host = torch.zeros(N, N).pin_memory()
    for _ in range(3):  # warm: kernels are chosen and loaded, clocks are up
        work(a, b, host)
    if sys.argv[1] == "plain":
        torch.cuda.nvtx.range_push("measured")
        work(a, b, host)
        torch.cuda.nvtx.range_pop()
        return
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        work(a, b, host)
    profile.export_chrome_trace(sys.argv[2])


if __name__ == "__main__":
    main()
