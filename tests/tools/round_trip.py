#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Converts a Kineto trace to .lcn and back, compares every field of every event, and checks the size of the .lcn."""
import argparse
import os
import subprocess
import sys
import tempfile

import same_trace

# Bytes per complete event, by the trace's clock; a capture with fewer events than this is mostly headers and texts.
MOST_MICROSECONDS, MOST_NANOSECONDS, FEWEST = 3.5, 5.0, 20_000


def convert(lacuna, source, target):
    done = subprocess.run([lacuna, "convert", "--quiet", source, target], capture_output=True, text=True)
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
        events = [event for event in same_trace.load(args.trace)["traceEvents"] if event["ph"] == "X"]
        is_fine = any(float(event["ts"]) % 1 != 0 for event in events)
        most = MOST_NANOSECONDS if is_fine else MOST_MICROSECONDS
        per_event = os.path.getsize(lcn) / len(events)
        clock = "nanoseconds" if is_fine else "microseconds"
        print(f"{len(events)} complete events, {clock}: {per_event:.2f} bytes each")
        if len(events) >= FEWEST and per_event > most:
            sys.exit(f"more than {most} bytes")
        sys.argv = ["same_trace.py", args.trace, back]
        return same_trace.main()


if __name__ == "__main__":
    sys.exit(main())
