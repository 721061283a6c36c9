#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Busy, idle, kernel, copy and memset totals per device, straight from a Kineto JSON, in ns.

kineto_totals.py TRACE                prints them as JSON
kineto_totals.py TRACE --lacuna PROG  compares them with `PROG report TRACE --json`; exit 1 on a difference
"""
import argparse
import gzip
import json
import subprocess
import sys
from decimal import Decimal

CATEGORIES = {"kernel": "kernel_ns", "gpu_memcpy": "memcpy_ns", "gpu_memset": "memset_ns"}


def ns(value):
    return int((Decimal(str(value)) * 1000).to_integral_value())


def totals(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    devices = {}
    for event in events:
        kind = CATEGORIES.get(event.get("cat"))
        if kind is None or event.get("ph") != "X":
            continue
        device = devices.setdefault(event["args"]["device"], {"spans": [], "kernel_ns": 0, "memcpy_ns": 0, "memset_ns": 0, "kernels": 0})
        start = ns(event["ts"])
        duration = ns(event["dur"])
        device["spans"].append((start, start + duration))
        device[kind] += duration
        device["kernels"] += kind == "kernel_ns"
    for device in devices.values():
        spans = sorted(device.pop("spans"))
        device["span_ns"] = max(end for _, end in spans) - spans[0][0]
        busy, until = 0, spans[0][0]
        for start, end in spans:
            busy += max(0, end - max(start, until))
            until = max(until, end)
        device["busy_ns"] = busy
        device["idle_ns"] = device["span_ns"] - busy
    return devices


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("--lacuna")
    options = parser.parse_args()
    expected = totals(options.trace)
    if not options.lacuna:
        print(json.dumps(expected, indent=2))
        return 0
    report = json.loads(subprocess.run([options.lacuna, "report", options.trace, "--json"], check=True, capture_output=True).stdout)
    wrong = 0
    found = {device["index"]: device for device in report["devices"]}
    if sorted(found) != sorted(expected):
        print(f"devices differ: {sorted(found)} in the report, {sorted(expected)} in the trace")
        wrong += 1
    for index, device in expected.items():
        for key, value in device.items():
            if found.get(index, {}).get(key) != value:
                print(f"device {index}: {key} is {found.get(index, {}).get(key)} in the report, {value} in the trace")
                wrong += 1
    ledgers = [device["ledger"] for device in report["devices"]] + [step["ledger"] for step in report["steps"]] + [report["ledger"]]
    for ledger in ledgers:
        wrong += sum(entry["ns"] for entry in ledger["entries"]) != ledger["total_ns"]
    for device in report["devices"]:
        wrong += device["ledger"]["total_ns"] != device["span_ns"]
    for step in report["steps"]:
        wrong += len(report["devices"]) * step["dur_ns"] != step["ledger"]["total_ns"]
    print("equal" if wrong == 0 else f"{wrong} differences")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
