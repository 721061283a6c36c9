#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Compares what two builds report of the same traces: every value of `lacuna report --json`, findings in their order.

Wording (titles, advice, reasons) may differ, and the second build may have keys that the first one lacks. Traces: those that are
named, the one in tests/data, and with --planted PROGRAM the made-up runs that the program planted_traces writes."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
WORDING = {"title", "advice", "not_predicted", "gain_factors", "what"}
MOST_SHOWN = 5
MOST_LETTERS = 200


def brief(value):
    text = repr(value)
    return text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + "…"


def differences(old, new, place="", strict=False):
    """Where two values differ, one line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                yield f"{place}.{key}: is missing in the second"
            elif strict or key not in WORDING:
                yield from differences(value, new[key], f"{place}.{key}", strict)
        if strict:
            yield from (f"{place}.{key}: is missing in the first" for key in new.keys() - old.keys())
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: {len(old)} entries in the first, {len(new)} in the second"
        for at, (left, right) in enumerate(zip(old, new)):
            yield from differences(left, right, f"{place}[{at}]", strict)
    elif type(old) is not type(new) or old != new:
        yield f"{place}: {brief(old)} in the first, {brief(new)} in the second"


def report(lacuna, trace):
    """The exit code, and the JSON or the error without the command's own path."""
    done = subprocess.run([lacuna, "report", str(trace), "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"same_reports: {lacuna} does not run: {done.stderr.strip()}")
    return {"exit": done.returncode, "report": json.loads(done.stdout) if done.stdout else None, "error": done.stderr if done.returncode else ""}


def self_test():
    """Plants differences of each kind."""
    base = {"findings": [{"id": "a", "title": "one", "cost": 5}, {"id": "b", "title": "two", "cost": 4}]}
    other = lambda **changes: {"findings": [{**base["findings"][0], **changes}, base["findings"][1]]}
    swapped = {"findings": base["findings"][::-1]}
    cases = (("the same", base, base, False), ("another title", base, other(title="1"), False), ("another cost", base, other(cost=6), True),
             ("an added key", base, other(new=1), False), ("a missing key", other(new=1), base, True), ("another order", base, swapped, True),
             ("one finding less", base, {"findings": base["findings"][:1]}, True), ("a number as text", base, other(cost="5"), True))
    wrong = [name for name, old, new, differs in cases if bool(list(differences(old, new))) != differs]
    if not list(differences(base, other(title="1"), strict=True)):
        wrong.append("another title, where wording counts")
    print(f"same_reports: {len(cases) + 1 - len(wrong)} of {len(cases) + 1} planted cases judged right" + (f"; wrong: {wrong}" if wrong else ""))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("old", nargs="?", help="the first build's lacuna")
    parser.add_argument("new", nargs="?", help="the second build's")
    parser.add_argument("traces", nargs="*", type=pathlib.Path)
    parser.add_argument("--planted", metavar="PROGRAM", help="planted_traces of either build")
    parser.add_argument("--strict", action="store_true", help="wording and added keys count too")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not options.new:
        parser.error("name two builds of lacuna")
    with tempfile.TemporaryDirectory() as folder:
        if options.planted:
            subprocess.run([options.planted, folder], check=True)
        traces = [*options.traces, *sorted(DATA.glob("*.lcn")), *sorted(pathlib.Path(folder).glob("*.lcn"))]
        differ = findings = 0
        for trace in traces:
            old, new = report(options.old, trace), report(options.new, trace)
            found = list(differences(old, new, strict=options.strict))
            findings += len((old["report"] or {}).get("findings", []))
            differ += bool(found)
            for line in found[:MOST_SHOWN]:
                print(f"{trace.name}: {line}")
            if len(found) > MOST_SHOWN:
                print(f"{trace.name}: and {len(found) - MOST_SHOWN} more")
    print(f"{len(traces)} traces with {findings} findings, {differ} differ")
    return 1 if differ or not traces else 0


if __name__ == "__main__":
    sys.exit(main())
