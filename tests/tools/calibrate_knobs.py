#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Measures with PyTorch what docs/analyses/whatif.md takes kernels to gain from a knob, on the CPU or a GPU:

  calibrate_knobs.py [--device cpu|cuda] [--seconds 0.3]

fuse      chains of pointwise operators, each by itself and compiled into one kernel: what the others add to the longest
amp       matrix products, convolutions and other operators in bfloat16 over float32
autotune  convolutions with the algorithm that was searched for over the one chosen at once (GPUs only)

Needs a PyTorch; for fuse also a C++ compiler, or Triton on a GPU. Prints a line a case and then the medians."""

import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

CHAINS = {
    "add relu": (lambda x, y: x + y, lambda x, y: torch.relu(x)),
    "mul add": (lambda x, y: x * y, lambda x, y: x + y),
    "scale bias relu": (lambda x, y: x * 1.5, lambda x, y: x + y, lambda x, y: torch.relu(x)),
    "gelu dropout-like": (lambda x, y: functional.gelu(x), lambda x, y: x * y, lambda x, y: x * 1.25),
    "sigmoid gate": (lambda x, y: torch.sigmoid(x), lambda x, y: x * y),
    "update": (lambda x, y: x * 0.9, lambda x, y: x + y, lambda x, y: x * 0.01, lambda x, y: y - x),
}
SIZES = (1 << 20, 1 << 22, 1 << 24)  # the calls themselves cost little beside these


class Clock:
    def __init__(self, device, seconds):
        self.device = device
        self.seconds = seconds

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def time(self, *functions):
        """Medians in microseconds; the functions take turns, so that a slow spell hits all of them."""
        samples = [[] for _ in functions]
        for function in functions:
            function()
        end = time.perf_counter() + self.seconds * len(functions)
        while time.perf_counter() < end or len(samples[0]) < 5:
            for function, mine in zip(functions, samples):
                self.wait()
                start = time.perf_counter()
                function()
                self.wait()
                mine.append(1e6 * (time.perf_counter() - start))
        return [statistics.median(mine) for mine in samples]


def fuse(clock):
    rests = []
    for name, chain in CHAINS.items():

        def whole(x, y, chain=chain):
            for operator in chain:
                x = operator(x, y)
            return x

        for size in SIZES:
            torch._dynamo.reset()
            x, y = torch.randn(size, device=clock.device), torch.randn(size, device=clock.device)
            compiled = torch.compile(whole)
            parts, at = [], x
            for operator in chain:
                parts.append(lambda operator=operator, at=at: operator(at, y))
                at = operator(at, y)
            fused, *alone = clock.time(lambda: compiled(x, y), *parts)
            rest = (fused - max(alone)) / (sum(alone) - max(alone))
            rests.append(rest)
            print(f"fuse      {name:18} {size:8} elements: alone {' + '.join(f'{t:.0f}' for t in alone)}, fused {fused:.0f} µs, rest {rest:.2f}")
    return rests


def half(clock, name, make):
    """The time in bfloat16 over that in float32."""
    full, small = clock.time(make(torch.float32), make(torch.bfloat16))
    print(f"amp       {name:40} {full:9.0f} → {small:9.0f} µs, {small / full:.2f}")
    return small / full


def amp(clock):
    def matmul(n):
        def make(dtype):
            a, b = (torch.randn(n, n, device=clock.device, dtype=dtype) for _ in range(2))
            return lambda: a @ b

        return make

    def conv(channels, side):
        def make(dtype):
            layer = nn.Conv2d(channels, channels, 3, padding=1, device=clock.device, dtype=dtype)
            x = torch.randn(8, channels, side, side, device=clock.device, dtype=dtype)
            return lambda: layer(x)

        return make

    def other(function):
        def make(dtype):
            x = torch.randn(64, 64, 32, 32, device=clock.device, dtype=dtype)
            return lambda: function(x)

        return make

    norm = {t: nn.BatchNorm2d(64, device=clock.device, dtype=t) for t in (torch.float32, torch.bfloat16)}
    with torch.no_grad():
        matrix = [half(clock, f"matmul {n}", matmul(n)) for n in (256, 512, 1024)]
        matrix += [half(clock, f"conv {c} channels, {s}×{s}", conv(c, s)) for c, s in ((64, 56), (128, 28), (256, 14))]
        others = [
            half(clock, "relu", other(torch.relu)),
            half(clock, "add", other(lambda x: x + x)),
            half(clock, "gelu", other(functional.gelu)),
            half(clock, "softmax", other(lambda x: torch.softmax(x, -1))),
            half(clock, "batch norm", other(lambda x: norm[x.dtype](x))),
            half(clock, "max pool", other(lambda x: functional.max_pool2d(x, 2))),
        ]
    return matrix, others


def autotune(clock):
    ratios = []
    with torch.no_grad():
        for channels, side in ((64, 56), (128, 28), (256, 14), (512, 7)):
            layer = nn.Conv2d(channels, channels, 3, padding=1, device="cuda")
            x = torch.randn(32, channels, side, side, device="cuda")
            times = []
            for search in (False, True):
                torch.backends.cudnn.benchmark = search
                times += clock.time(lambda: layer(x))
            ratios.append(times[1] / times[0])
            print(f"autotune  conv {channels} channels, {side}×{side}: {times[0]:.0f} → {times[1]:.0f} µs, {ratios[-1]:.2f}")
    return ratios


def summary(name, values):
    low, high = min(values), max(values)
    print(f"{name:16} median {statistics.median(values):.2f}, from {low:.2f} to {high:.2f} in {len(values)} cases")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each side of each case")
    options = parser.parse_args()
    clock = Clock(options.device, options.seconds)
    print(f"PyTorch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads")
    matrix, others = amp(clock)
    rests = fuse(clock)
    tuned = autotune(clock) if options.device == "cuda" else []
    print()
    summary("amp, matrix", matrix)
    summary("amp, others", others)
    summary("fuse, rest", rests)
    if tuned:
        summary("autotune", tuned)


if __name__ == "__main__":
    main()
