#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Replays of graphs in a Kineto JSON: as recorded, and with losses that are planted in it.

kineto_graphs.py TRACE --lacuna PROG  As recorded, the report must have as many replays as there are launches, lack no work of those that have any, and
                                      call no time unknown for it. Then all work of one launch after the other is taken out. No idle cause but `unknown`
                                      may grow, and the launch must lack its work.
Exit 1 on a difference, 77 where the trace has no launches of graphs with work.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver"}
BUSY = {"compute", "exposed_communication", "exposed_copy"}
PLANTED = 3


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def correlation(event):
    return event.get("args", {}).get("correlation", 0)


def launches_of(events):
    """The launches with work by their correlation, in order of time; those without are counted."""
    calls = [event for event in events if event.get("cat") in CALLS and "GraphLaunch" in event.get("name", "")]
    worked = {correlation(event) for event in events if event.get("cat") in WORK}
    calls.sort(key=lambda call: float(call["ts"]))
    return [correlation(call) for call in calls if correlation(call) in worked], sum(correlation(call) not in worked for call in calls)


def report(lacuna, trace):
    return json.loads(subprocess.run([lacuna, "report", str(trace), "--json"], check=True, capture_output=True).stdout)


def causes_of(found):
    """Nanoseconds by cause, over the devices."""
    sums = {}
    for device in found["devices"]:
        for entry in device["ledger"]["entries"]:
            sums[entry["cause"]] = sums.get(entry["cause"], 0) + entry["ns"]
    return sums


def differences_of_loss(lacuna, trace, launch, before, folder):
    lossy = {**trace, "traceEvents": [event for event in trace["traceEvents"] if event.get("cat") not in WORK or correlation(event) != launch]}
    path = pathlib.Path(folder) / "lossy.json"
    path.write_text(json.dumps(lossy))
    found = report(lacuna, path)
    graphs = found["graph_replays"]
    if graphs["under_recorded"] + graphs["cut"] == 0:
        yield f"launch {launch} has no work, and no replay lacks any"
    was, now = causes_of(before), causes_of(found)
    for cause in now:
        if cause not in BUSY | {"unknown"} and now[cause] > was.get(cause, 0):
            yield f"launch {launch} has no work, and {cause} grew from {was.get(cause, 0)} to {now[cause]} ns"


def differences(lacuna, path):
    trace = read(path)
    worked, without = launches_of(trace["traceEvents"])
    if not worked:
        sys.exit(77)
    found = report(lacuna, path)
    graphs = found["graph_replays"]
    if without == 0:
        expected = {"replays": len(worked), "under_recorded": 0, "missing": 0, "unknown_ns": 0}
        for key, value in expected.items():
            if graphs[key] != value:
                yield f"{key} is {graphs[key]}, expected {value}"
    with tempfile.TemporaryDirectory() as folder:
        for launch in worked[:: max(1, len(worked) // PLANTED)][:PLANTED]:
            yield from differences_of_loss(lacuna, trace, launch, found, folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("--lacuna", required=True)
    options = parser.parse_args()
    found = list(differences(options.lacuna, options.trace))
    for line in found:
        print(f"{options.trace}: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
