#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Measures with PyTorch what kernels gain from the knobs that change them, and writes the factors for `lacuna whatif --calibration`:

amp         matrix products, convolutions and other operators in bfloat16 over float32
fuse        chains of pointwise operators, each by itself and compiled into one kernel: what the others add to the longest
autotune    convolutions with the algorithm that was searched for over the one chosen at once (GPUs)
loader.pin  copies to the device from pinned memory over those from pageable memory (GPUs)

Needs a PyTorch; for fuse also a C++ compiler, or Triton on a GPU. docs/calibration.md describes the file."""

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    sys.exit(f"calibrate: {sys.executable} has no PyTorch ({error}); pip install torch, or name the Python that has it with --python")

SCHEMA = "lacuna.calibration/1"
#: A sample lasts so long at least, so that neither the clock nor the call counts.
SAMPLE_SECONDS = 0.001
#: With so many cases short and long kernels have factors of their own.
SPLIT_FROM = 6
#: The greatest factor that a calibration may give.
LONGEST_FACTOR = 100
#: With so many cases the bounds leave out the lowest and the highest: not all kernels of a run are the odd one.
TRIM_FROM = 6

CHAINS = {
    "add relu": (lambda x, y: x + y, lambda x, y: torch.relu(x)),
    "mul add": (lambda x, y: x * y, lambda x, y: x + y),
    "scale bias relu": (lambda x, y: x * 1.5, lambda x, y: x + y, lambda x, y: torch.relu(x)),
    "gelu dropout-like": (lambda x, y: functional.gelu(x), lambda x, y: x * y, lambda x, y: x * 1.25),
    "sigmoid gate": (lambda x, y: torch.sigmoid(x), lambda x, y: x * y),
    "update": (lambda x, y: x * 0.9, lambda x, y: x + y, lambda x, y: x * 0.01, lambda x, y: y - x),
}
POINTWISE_SIZES = (1 << 16, 1 << 20, 1 << 22, 1 << 24)
MATRIX_SIZES = (128, 256, 512, 1024, 2048)
CONVOLUTIONS = ((64, 56), (128, 28), (256, 14), (512, 7))
COPY_SIZES = (1 << 16, 1 << 20, 1 << 24, 1 << 26)


class Clock:
    def __init__(self, device, seconds):
        self.device = device
        self.seconds = seconds

    def take(self, function, times):
        """Seconds of so many calls in a row; on a GPU by its own clock."""
        if self.device == "cpu":
            start = time.perf_counter()
            for _ in range(times):
                function()
            return time.perf_counter() - start
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(times):
            function()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1000

    def repeats(self, function):
        self.take(function, 2)
        times = 1
        while self.take(function, times) < SAMPLE_SECONDS and times < 1 << 16:
            times *= 2
        return times

    def time(self, *functions):
        """Medians in nanoseconds; the functions take turns, so that a slow spell hits all of them."""
        samples = [[] for _ in functions]
        repeats = [self.repeats(function) for function in functions]
        end = time.perf_counter() + self.seconds * len(functions)
        while time.perf_counter() < end or len(samples[0]) < 5:
            for function, times, mine in zip(functions, repeats, samples):
                mine.append(1e9 * self.take(function, times) / times)
        return [statistics.median(mine) for mine in samples]


class Cases:
    """The measurements: durations without the knob, and the ratio of them that remains with it."""

    def __init__(self):
        self.found = {}

    def add(self, knob, kernels, name, before_ns, after_ns, ratio=None):
        ratio = after_ns / before_ns if ratio is None else ratio
        self.found.setdefault((knob, kernels), []).append((before_ns, ratio))
        print(f"{knob:10} {kernels:11} {name:32} {before_ns / 1000:10.1f} → {after_ns / 1000:10.1f} µs, {ratio:.2f}", flush=True)

    def factors(self):
        rows = []
        for (knob, kernels), cases in self.found.items():
            cases = sorted(cases)
            middle = len(cases) // 2
            parts = [cases[:middle], cases[middle:]] if len(cases) >= SPLIT_FROM else [cases]
            border = int(math.sqrt(parts[0][-1][0] * parts[-1][0][0])) if len(parts) > 1 else None
            for i, part in enumerate(parts):
                row = {"knob": knob, "kernels": kernels}
                if border is not None:
                    row["from_ns" if i else "to_ns"] = border
                ratios = sorted(min(max(ratio, 0), LONGEST_FACTOR) for _, ratio in part)
                inner = ratios[1:-1] if len(ratios) >= TRIM_FROM else ratios
                row.update(likely=round(statistics.median(ratios), 3), low=round(inner[0], 3), high=round(inner[-1], 3),
                           cases=len(ratios))
                rows.append(row)
        return rows


def amp(clock, cases):
    def half(kernels, name, make):
        cases.add("amp", kernels, name, *clock.time(make(torch.float32), make(torch.bfloat16)))

    def product(n):
        def make(dtype):
            a, b = (torch.randn(n, n, device=clock.device, dtype=dtype) for _ in range(2))
            return lambda: a @ b

        return make

    def convolution(channels, side):
        def make(dtype):
            layer = nn.Conv2d(channels, channels, 3, padding=1, device=clock.device, dtype=dtype)
            x = torch.randn(8, channels, side, side, device=clock.device, dtype=dtype)
            return lambda: layer(x)

        return make

    def other(function, side):
        def make(dtype):
            x = torch.randn(32, 64, side, side, device=clock.device, dtype=dtype)
            return lambda: function(x)

        return make

    norm = {t: nn.BatchNorm2d(64, device=clock.device, dtype=t) for t in (torch.float32, torch.bfloat16)}
    others = {"relu": torch.relu, "add": lambda x: x + x, "gelu": functional.gelu, "softmax": lambda x: torch.softmax(x, -1),
              "batch norm": lambda x: norm[x.dtype](x), "max pool": lambda x: functional.max_pool2d(x, 2)}
    with torch.no_grad():
        for n in MATRIX_SIZES:
            half("product", f"{n}×{n}", product(n))
        for channels, side in CONVOLUTIONS:
            half("convolution", f"{channels} channels, {side}×{side}", convolution(channels, side))
        for name, function in others.items():
            for side in (8, 56):
                half("other", f"{name}, {side}×{side}", other(function, side))


def fuse(clock, cases):
    for name, chain in CHAINS.items():

        def chained(x, y, chain=chain):
            for operator in chain:
                x = operator(x, y)
            return x

        for size in POINTWISE_SIZES:
            torch._dynamo.reset()
            x, y = torch.randn(size, device=clock.device), torch.randn(size, device=clock.device)
            compiled = torch.compile(chained)
            parts, at = [], x
            for operator in chain:
                parts.append(lambda operator=operator, at=at: operator(at, y))
                at = operator(at, y)
            fused, *alone = clock.time(lambda: compiled(x, y), *parts)
            rest = sum(alone) - max(alone)
            # The subject of the chain: the others' length, and what fusing leaves of it.
            cases.add("fuse", "pointwise", f"{name}, {size}", rest / (len(alone) - 1), fused, (fused - max(alone)) / rest)


def autotune(clock, cases):
    with torch.no_grad():
        for channels, side in CONVOLUTIONS:
            layer = nn.Conv2d(channels, channels, 3, padding=1, device=clock.device)
            x = torch.randn(32, channels, side, side, device=clock.device)
            times = []
            for search in (False, True):
                torch.backends.cudnn.benchmark = search
                times += clock.time(lambda: layer(x))
            cases.add("autotune", "convolution", f"{channels} channels, {side}×{side}", *times)
    # The search is cuDNN's; products do not take part.
    cases.found["autotune", "product"] = [(1.0, 1.0)]


def pin(clock, cases):
    for size in COPY_SIZES:
        there = torch.empty(size, dtype=torch.uint8, device=clock.device)
        pageable, pinned = torch.ones(size, dtype=torch.uint8), torch.ones(size, dtype=torch.uint8).pin_memory()
        cases.add("loader.pin", "copy", f"{size} bytes",
                  *clock.time(lambda: there.copy_(pageable), lambda: there.copy_(pinned, non_blocking=True)))


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            return next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine() or "CPU"


def parts_for(device, wanted):
    parts = {"amp": amp, "fuse": fuse}
    if device == "cuda":
        parts.update({"autotune": autotune, "loader.pin": pin})
    unknown = set(wanted) - set(parts)
    if unknown:
        sys.exit(f"calibrate: on {device} there is no {', '.join(sorted(unknown))} to measure; there are: {', '.join(parts)}")
    return {name: part for name, part in parts.items() if not wanted or name in wanted}


def place(unfinished, path, replace):
    path = os.path.realpath(path) if os.path.isfile(path) else path
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe is written as it stands
        with open(unfinished, encoding="utf-8") as text, open(path, "w", encoding="utf-8") as out:
            out.write(text.read())
    elif not replace:
        os.link(unfinished, path)  # which no file that is there lets happen
    else:
        os.replace(unfinished, path)
        return
    os.unlink(unfinished)


def write(path, document=None, replace=False):
    """Whole or not at all; without a document it is only tried whether that can be done."""
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(0, "is a folder")
        with open(unfinished, "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1, ensure_ascii=False)
            out.write("\n")
        if document is None:
            os.unlink(unfinished)
        else:
            place(unfinished, path, replace)
    except OSError as error:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        sys.exit(f"calibrate: {path} cannot be written: {error.strerror}; name another file with --output")


def outcomes_of(path):
    """What `lacuna tune` measured stays in the file when its factors are measured anew."""
    try:
        with open(path, encoding="utf-8") as file:
            outcomes = json.load(file)["outcomes"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return outcomes if isinstance(outcomes, list) else []


def main():
    parser = argparse.ArgumentParser(prog="calibrate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each side of each case")
    parser.add_argument("--knob", action="append", default=[], help="only this one (repeatable)")
    parser.add_argument("--output", default="calibration.json")
    parser.add_argument("--force", action="store_true", help="replace a file of that name")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("calibrate: this PyTorch sees no GPU; --device cpu measures the CPU")
    parts = parts_for(options.device, options.knob)
    write(options.output)  # rather than after minutes of measuring
    clock, cases = Clock(options.device, options.seconds), Cases()
    for name, part in parts.items():
        try:
            part(clock, cases)
        except Exception as error:  # whatever a compiler or a library raises: the other knobs are still worth having
            if name != "fuse":
                raise
            cases.found.pop(("fuse", "pointwise"), None)
            print(f"calibrate: fuse cannot be measured here, its factors stay the built-in ones: {str(error).splitlines()[0]}", file=sys.stderr)
    name = torch.cuda.get_device_name() if options.device == "cuda" else f"{cpu_name()}, {torch.get_num_threads()} threads"
    document = {
        "schema": SCHEMA,
        "measured": {"date": datetime.date.today().isoformat(), "host": platform.node(), "device": name,
                     "with": f"PyTorch {torch.__version__}"},
        "factors": cases.factors(),
    }
    if outcomes := outcomes_of(options.output):
        document["outcomes"] = outcomes
    write(options.output, document, options.force)
    print(f"\n{'knob':10} {'kernels':11} {'durations':>22} {'likely':>7} {'low':>7} {'high':>7}")
    for row in document["factors"]:
        border = f"from {row['from_ns'] / 1000:.1f} µs" if "from_ns" in row else f"below {row['to_ns'] / 1000:.1f} µs" if "to_ns" in row else "all"
        print(f"{row['knob']:10} {row['kernels']:11} {border:>22} {row['likely']:7.2f} {row['low']:7.2f} {row['high']:7.2f}")
    print(f"{options.output}: for lacuna whatif and report, with --calibration or LACUNA_CALIBRATION")


if __name__ == "__main__":
    main()
