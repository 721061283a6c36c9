#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Imports a Kineto trace of more than 4 GiB, and prints time and peak memory. The trace is made here, has one event that is not well-formed behind the
fourth GiB, and is removed again. Takes minutes and as much room on the disk (a fiftieth with --gz), so no test program runs it."""
import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

BROKEN = '{"ph": "X", "cat": "cpu_op", "name": "broken", "pid": 1, "tid": 1, "ts": , "dur": 1},\n'


def events(step):
    """One step of a thousand launches: an operator, a call and a kernel each."""
    lines = []
    for i in range(1000):
        number = step * 1000 + i + 1
        at = number * 20
        lines.append(
            f'{{"ph": "X", "cat": "cpu_op", "name": "aten::addmm_{i % 50}", "pid": 4711, "tid": 4711, "ts": {at}.125, "dur": 14.250, '
            f'"args": {{"External id": {number}, "Record function id": 0, "Sequence number": {number}, "Fwd thread id": 0, "Ev Idx": {number}}}}},\n'
            f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": {at + 3}.500, "dur": 6.125, '
            f'"args": {{"External id": {number}, "cbid": 211, "correlation": {number}}}}},\n'
            f'{{"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_{i % 50}", "pid": 0, "tid": 7, "ts": {at + 12}.375, "dur": {5 + i % 7}.625, '
            f'"args": {{"External id": {number}, "device": 0, "context": 1, "stream": 7, "correlation": {number}, "registers per thread": 122, '
            f'"shared memory": 8192, "grid": [{8 + i % 16}, 4, 1], "block": [128, 1, 1], "est. achieved occupancy %": 25}}}},\n')
    return "".join(lines)


def write(path, size, opened):
    written, step = 0, 0
    with opened(path) as out:
        def put(text):
            data = text.encode()
            out.write(data)
            return len(data)

        written += put('{"schemaVersion": 1, "traceEvents": [\n')
        while written < size:
            written += put(events(step))
            step += 1
        broken_at = written
        written += put(BROKEN) + put(events(step))
        put('{"ph": "M", "name": "process_name", "pid": 4711, "tid": 0, "ts": 0, "args": {"name": "python"}}\n]}\n')
    return (step + 1) * 1000, broken_at


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lacuna", required=True, help="the command to check")
    parser.add_argument("--gib", type=float, default=4.2, help="size of the trace's text")
    parser.add_argument("--gz", action="store_true", help="compress it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "huge.json" + (".gz" if args.gz else ""))
        launches, broken_at = write(trace, int(args.gib * 2**30), (lambda p: gzip.open(p, "wb", compresslevel=1)) if args.gz else (lambda p: open(p, "wb")))
        lcn = os.path.join(folder, "huge.lcn")
        begin = time.monotonic()
        done = subprocess.run([args.lacuna, "convert", "--quiet", trace, "-o", lcn], capture_output=True, text=True)
        took = time.monotonic() - begin
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if done.returncode != 0:
            sys.exit(f"the import failed: {done.stderr}")
        info = json.loads(subprocess.run([args.lacuna, "info", lcn, "--json"], capture_output=True, text=True, check=True).stdout)
        rows = {table["name"]: table["rows"] for table in info["tables"]}
        for table in ("range", "api_call", "kernel"):
            if rows[table] != launches:
                sys.exit(f"{rows[table]} rows of {table}, {launches} were written")
        if f"byte {broken_at}" not in done.stderr and f"byte {broken_at}" not in json.dumps(info):
            sys.exit(f"no warning names byte {broken_at}: {done.stderr}")
        print(f"{os.path.getsize(trace) / 2**30:.2f} GiB on disk, {3 * launches} events, broken event named at byte {broken_at}; "
              f"{took:.0f} s, peak memory {peak / 2**30:.2f} GiB, {info['bytes'] / 2**20:.0f} MiB of .lcn")


if __name__ == "__main__":
    main()
