#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Converts a Kineto trace to .lcn and back, compares every field of every event, and checks the size of the .lcn."""
import argparse
import collections
import lzma
import os
import subprocess
import sys
import tempfile

import same_trace

# Bytes per complete event, by the trace's clock. Where no file can be that small (see least_bytes), MOST_OVER_LEAST
# times the least is allowed. Such captures are small, and a trace of few rows is mostly the description of its columns.
MOST_MICROSECONDS, MOST_NANOSECONDS, MOST_OVER_LEAST = 3.5, 5.0, 5.5


def compressed(data):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}]
    return min(len(data), len(lzma.compress(data, format=lzma.FORMAT_RAW, filters=filters))) if any(data) else 0


def numbers_bytes(values):
    """The compressed size of numbers: all bytes of one place together, and signs in the lowest bit."""
    values = [value << 1 ^ value >> 63 for value in values]
    return sum(compressed(bytes(value >> 8 * place & 255 for value in values)) for place in range(8))


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        yield from value
        yield from texts_in(list(value.values()))


def least_bytes(trace, events, ticks):
    """The size of the starts, the durations, the names and the distinct texts alone, each compressed as well as xz can.
    The texts include the names of arguments. Correlations, other arguments, flows and all description of the data are
    left out."""
    lanes = collections.defaultdict(list)
    for event in events:
        lanes[event["pid"], event["tid"]].append((round(float(event["ts"]) * ticks), event))
    ids, starts, durations, names = {}, [], [], []
    for lane in lanes.values():
        last = None
        for start, event in sorted(lane, key=lambda timed: timed[0]):
            starts.append(start - (start if last is None else last))
            durations.append(round(float(event.get("dur", 0)) * ticks))
            names.append(ids.setdefault(event["name"], len(ids)))
            last = start
    texts = compressed("\0".join(sorted(set(texts_in(trace)))).encode())
    return texts + numbers_bytes(starts) + numbers_bytes(durations) + numbers_bytes(names)


def convert(lacuna, source, target):
    done = subprocess.run([lacuna, "convert", "--quiet", source, "-o", target], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source} → {target}: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace")
    parser.add_argument("--lacuna", required=True, help="the command to check")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lcn, back = os.path.join(folder, "trace.lcn"), os.path.join(folder, "back.json")
        convert(args.lacuna, args.trace, lcn)
        convert(args.lacuna, lcn, back)
        trace = same_trace.load(args.trace)
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        is_fine = any(float(event["ts"]) % 1 != 0 for event in events)
        most = MOST_NANOSECONDS if is_fine else MOST_MICROSECONDS
        per_event = os.path.getsize(lcn) / len(events)
        clock = "nanoseconds" if is_fine else "microseconds"
        print(f"{len(events)} complete events, {clock}: {per_event:.2f} bytes each")
        if per_event > most:
            least = least_bytes(trace, events, 1000 if is_fine else 1) / len(events)
            print(f"more than {most}, but its starts, durations and texts alone take {least:.2f} compressed with xz")
            if least <= most or per_event > MOST_OVER_LEAST * least:
                sys.exit(f"more than {max(most, MOST_OVER_LEAST * least):.2f} bytes")
        sys.argv = ["same_trace.py", args.trace, back]
        return same_trace.main()


if __name__ == "__main__":
    sys.exit(main())
