#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the report's repeated sequences of kernels against a count of the same sequences straight from a Kineto JSON.

kineto_sequences.py TRACE --lacuna PROG   exit 1 on a difference

A kernel belongs to one sequence at most, so the report may count a sequence less often than it is there, never more
often. The sequence that joins most launches had the first choice. It must be counted exactly, with its time and its
gaps, in captures of up to 8,192 kernels a queue. The report searches such captures as a whole."""
import argparse
import gzip
import json
import subprocess
import sys
from bisect import bisect_right
from decimal import Decimal

COLLECTIVE = ("nccl", "rccl", "allreduce", "all_reduce")


def ns(value):
    return int((Decimal(str(value)) * 1000).to_integral_value())


def queues_of(path):
    """Lists of stretches of one step's kernels a queue, each kernel (name, ns, gap before it)."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        events = [e for e in json.load(file, parse_float=Decimal)["traceEvents"] if e.get("ph") == "X"]
    marks = sorted(ns(e["ts"]) for e in events if str(e.get("name")).startswith("ProfilerStep#") and e.get("cat") == "user_annotation")
    ends = sorted(ns(e["ts"]) + ns(e["dur"]) for e in events if str(e.get("name")).startswith("ProfilerStep#") and e.get("cat") == "user_annotation")
    launches = {e["args"]["correlation"]: ns(e["ts"]) for e in events
                if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    queues = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            queues.setdefault((event["args"]["device"], event["args"]["stream"]), []).append(event)
    out = []
    for work in queues.values():
        work.sort(key=lambda e: ns(e["ts"]))
        stretches, busy_until, last_step = [], None, None
        for event in work:
            start = ns(event["ts"])
            at = launches.get(event["args"].get("correlation"), start)
            step = bisect_right(marks, at)
            counts = not marks or (step > 0 and at < ends[step - 1])
            if not counts:
                continue
            name = event["name"]
            if event["cat"] != "kernel" or any(word in name.lower() for word in COLLECTIVE):
                last_step = None
            else:
                if last_step != step:
                    stretches.append([])
                stretches[-1].append((name, ns(event["dur"]), max(0, start - busy_until) if busy_until is not None else 0))
                last_step = step
            busy_until = max(busy_until or 0, start + ns(event["dur"]))
        out.append(stretches)
    return out


def count(queues, word):
    """How often the word is there, in how many stretches, its kernels' time and the gaps within a stretch."""
    times = runs = device = gaps = 0
    for stretches in queues:
        for kernels in stretches:
            at, end = 0, None
            while at + len(word) <= len(kernels):
                if [k[0] for k in kernels[at:at + len(word)]] != word:
                    at += 1
                    continue
                times += 1
                runs += at != end
                device += sum(k[1] for k in kernels[at:at + len(word)])
                gaps += sum(k[2] for k in kernels[at + (at != end):at + len(word)])
                at += len(word)
                end = at
    return times, runs, device, gaps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("--lacuna", required=True)
    options = parser.parse_args()
    queues = queues_of(options.trace)
    report = json.loads(subprocess.run([options.lacuna, "report", options.trace, "--json"], check=True, capture_output=True).stdout)
    rows = report["sequences"]["repeated"]
    wrong, first = 0, None
    for row in rows:
        times, runs, device, gaps = count(queues, row["kernels"])
        saved = times * len(row["kernels"]) - runs
        if first is None or saved > first[0]:
            first = (saved, row, (times, runs, device, gaps))
        if row["count"] > times or row["device_ns"] > device:
            print(f"{row['kernels']}: counted {row['count']} times, {row['device_ns']} ns; there {times} times, {device} ns")
            wrong += 1
    kernels = sum(len(stretch) for stretches in queues for stretch in stretches)
    if sum(row["count"] * len(row["kernels"]) for row in rows) > kernels:
        print("a kernel is in two sequences")
        wrong += 1
    if first and max(sum(map(len, stretches)) for stretches in queues) <= 8192:
        row = first[1]
        reported = (row["count"], row["runs"], row["device_ns"], row["gap_ns"])
        if reported != first[2]:
            print(f"{row['kernels']}: the report says {reported}, the file {first[2]}")
            wrong += 1
    print(f"{len(rows)} sequences of {kernels} kernels in the steps compared")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
