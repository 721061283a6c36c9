#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""same_trace.py A B: compares two Chrome traces event by event, every field of every event, in any order."""
import collections
import gzip
import json
import sys


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path) as file:
        return json.load(file)


def number(value):
    """12 and 12.0 are the same number."""
    if isinstance(value, dict):
        return {key: number(item) for key, item in value.items()}
    if isinstance(value, list):
        return [number(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def events(trace):
    listed = trace["traceEvents"] if isinstance(trace, dict) else trace
    return collections.Counter(json.dumps(number(event), sort_keys=True) for event in listed)


def main():
    first, second = load(sys.argv[1]), load(sys.argv[2])
    ours, theirs = events(first), events(second)
    missing, extra = ours - theirs, theirs - ours
    for text in list(missing)[:5]:
        print("missing:", text[:2000])
    for text in list(extra)[:5]:
        print("extra:  ", text[:2000])
    members = [{k: number(v) for k, v in t.items() if k != "traceEvents"} if isinstance(t, dict) else {} for t in (first, second)]
    if members[0] != members[1]:
        print("members differ:", {k for k in members[0].keys() | members[1].keys() if members[0].get(k) != members[1].get(k)})
    print(f"{sum(ours.values())} events, {sum(missing.values())} missing, {sum(extra.values())} extra")
    return 1 if missing or extra or members[0] != members[1] else 0


if __name__ == "__main__":
    sys.exit(main())
