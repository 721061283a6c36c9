#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Adds up again what `lacuna report --explain` prints, over made-up traces and those named: terms and limits must lead to the gain and the
interval that the report has, in JSON and in text. Also checks the errors of a number that is none."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from gate_contract import write_run  # noqa: E402

FAILED = []
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print("wrong:", what)


def lacuna(*words):
    return subprocess.run([OPTIONS.lacuna, *words], capture_output=True, text=True)


def divided(value, count):
    return int(abs(value) // count) * (1 if value >= 0 else -1)


def added_up(account, suffix):
    """The result of an account, computed from its terms and limits alone."""
    now = 0
    for term in account["terms"]:
        value = term["value"]
        now = {"start": lambda: value, "minus": lambda: now - value, "times": lambda: now * value, "over": lambda: divided(now, value),
               "from": lambda: value - now}[term["op"]]()
        check(now == term["after_" + suffix], f"a term breaks the chain: {term}")
    for limit in account["limits"]:
        check(limit["before_" + suffix] == now, f"a limit breaks the chain: {limit}")
        now = (min if limit["bound"] == "at_most" else max)(now, limit["limit_" + suffix])
        check(now == limit["after_" + suffix], f"a limit does not hold: {limit}")
    return now


def check_prediction(explained, finding):
    """The replay's own chain ends at the step that the gain begins with."""
    prediction = explained["prediction"]
    now = prediction["changed_ns"]
    for limit in prediction["limits"]:
        if limit["of"] == "step":
            check(limit["before_ns"] == now, f"a limit on the step breaks the chain: {limit}")
            now = limit["after_ns"]
    values = [term["value"] for term in explained["gain"]["terms"]]
    check(now == prediction["result_ns"] and now in values, f"the gain does not begin at the prediction: {values} {now}")
    check(prediction["replayed_ns"] == finding["base_ns_per_step"] and prediction["replayed_ns"] in values, "nor at the unchanged replay")


def check_json(file, number, finding):
    explained = json.loads(lacuna("report", file, "--explain", str(number), "--json").stdout)
    check((explained["number"], explained["id"], explained["title"]) == (number, finding["id"], finding["title"]), f"another finding: {explained['title']}")
    basis = finding["gain_basis"]
    if basis == "none":
        check(explained["gain"] is None and explained["not_predicted"] == finding["not_predicted"], f"a gain from nothing: {explained}")
        return explained
    if basis == "bytes":
        check(added_up(explained["gain"], "bytes") == finding["predicted_gain_bytes"], f"bytes do not add up: {explained['gain']}")
        return explained
    for part, key in (("gain", "predicted_gain_ns_per_step"), ("low", "gain_low_ns_per_step"), ("high", "gain_high_ns_per_step")):
        check(added_up(explained[part], "ns") == explained[part]["result_ns"] == finding[key], f"{file} {number}: {part} is not {finding[key]}: {explained[part]}")
    check((explained["prediction"] is not None) == (basis in ("replay", "upper_bound")), f"a replay of {basis}")
    if explained["prediction"]:
        check_prediction(explained, finding)
    return explained


def amounts(line):
    return [float(number) * UNITS[unit] for number, unit in re.findall(r"(-?\d+(?:\.\d+)?) (ns|µs|ms|s|B|KiB|MiB|GiB)\b", line)]


def check_text(file, number, explained):
    """Text has the same numbers, to three digits, and 80 columns."""
    text = lacuna("report", file, "--explain", str(number)).stdout
    lines = text.splitlines()
    check(text.startswith(f"finding {number}: ") and all(len(line) <= 80 for line in lines), f"the layout of {file} {number}:\n{text}")
    if explained["gain"] is None:
        check("not predicted: " in text and "computed" not in text, f"a gain from nothing: {text}")
        return
    suffix = "bytes" if explained["gain_basis"] == "bytes" else "ns"
    account = lines[lines.index("how the gain was computed") + 1:]
    for term, line in zip(explained["gain"]["terms"], account):
        wanted = term["after_" + suffix]
        shown = amounts(line)
        check(term["name"] in line and shown and (abs(shown[-1] - wanted) <= 0.006 * abs(wanted) or wanted > 120e9), f"{line!r} is not {term}")
    result = next(line for line in account if line.startswith("  gain "))
    wanted = explained["gain"]["result_" + suffix]
    check("decided by" in result and abs(amounts(result)[0] - wanted) <= 0.006 * wanted, f"{result!r} is not {wanted}")


def check_trace(file):
    findings = json.loads(lacuna("report", file, "--json").stdout)["findings"]
    for number, finding in enumerate(findings, 1):
        check_text(file, number, check_json(file, number, finding))
    past = lacuna("report", file, "--explain", str(len(findings) + 1))
    expected = "no findings" if not findings else "the report has finding"
    check(past.returncode == 1 and not past.stdout and expected in past.stderr, f"a number past the last: {past.returncode} {past.stderr}")
    return {finding["gain_basis"] for finding in findings}


def made_up(folder):
    for seed in (1, 2, 3):
        path = os.path.join(folder, f"made{seed}.lcn")
        done = lacuna("generate", "-o", path, "--steps", "40", "--seed", str(seed), "--layers", str(4 * seed), "--processes", str(seed))
        check(done.returncode == 0, done.stderr)
        yield path
    yield write_run(os.path.join(folder, "short.json"), kernels=40, length=2)
    yield write_run(os.path.join(folder, "whole.json"), kernels=20, length=3, marked=False)
    yield write_run(os.path.join(folder, "uneven.json"), kernels=20, length=30, jitter=0.5)


def check_misuse(file):
    for words in (("0",), ("-1",), ("x",), ("1", "--section", "memory"), ("1", "-o", "page.html"), ("1", "--list-findings")):
        done = lacuna("report", file, "--explain", *words)
        check(done.returncode == 2 and not done.stdout and done.stderr, f"--explain {words}: {done.returncode}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        seen = set()
        for file in [*made_up(folder), *OPTIONS.traces]:
            seen |= check_trace(file)
        check("replay" in seen, f"no replayed gain was seen, only {seen}")
        check_misuse(os.path.join(folder, "made1.lcn"))
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lacuna", help="the command to check")
    parser.add_argument("traces", nargs="*", help="more traces to explain the findings of")
    OPTIONS = parser.parse_args()
    main()
