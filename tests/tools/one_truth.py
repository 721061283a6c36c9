#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that all front doors give one step time, one number of kernels and one peak of memory for a trace: the report as
text, JSON and HTML, diff, check and SQL. The GUI shows the report's first line. Traces: those that are named, and made-up and drawn ones.
usage: one_truth.py LACUNA [--planted PROGRAM] [--training PROGRAM --count N --from SEED] [TRACE…]"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "programs"))
sys.dont_write_bytecode = True
import runtime_programs  # noqa: E402

FAILED = []
SECONDS = 1  # that a program trains


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def checked(lacuna, trace):
    """The figures of `check`, by name: the text behind the name and before the comma."""
    lines = run(lacuna, "check", trace, "--baseline", trace).splitlines()
    return dict(re.findall(r"^\S+\s+([^:]+): (.*?) before,", line)[0] for line in lines if " before," in line)


def heading(text):
    """The step time in the first line of a report; none without steps."""
    found = re.search(r"\d+ steps?(?: \([\d,]+ in detail\))? of ([\d.,]+ \S+)", text)
    return found and found[1]


def mean_step(difference):
    """The mean step in the text of a comparison; none without steps."""
    found = re.search(r"^\S+ ([\d.,]+ \S+) \(median of", re.sub(r"\s+", " ", difference))
    return found and found[1]


def expect(trace, what, values):
    known = {name: value for name, value in values.items() if value is not None}
    if len(set(known.values())) > 1:
        FAILED.append(what)
        print(f"{trace}: {what} differs: " + ", ".join(f"{name} {value}" for name, value in known.items()))


def compare(lacuna, trace, folder):
    report = json.loads(run(lacuna, "report", trace, "--json"))
    difference = json.loads(run(lacuna, "diff", trace, trace, "--json"))
    page = os.path.join(folder, "report.html")
    run(lacuna, "report", trace, "-o", page, "--force")
    html = re.sub(r"<[^>]*>", "", pathlib.Path(page).read_text(encoding="utf-8"))
    text = re.sub(r"\s+", " ", run(lacuna, "report", trace, "--section", "summary"))
    gates = checked(lacuna, trace)
    peak = re.search(r"peak ([\d.,]+ \S+)", run(lacuna, "report", trace, "--section", "memory"))
    kernels = re.findall(r"\d+", run(lacuna, "query", trace, "SELECT count(*) AS n FROM kernel"))
    expect(trace, "the kernels", {"report": sum(kernel["count"] for kernel in report["kernels"]), "SQL": int(kernels[-1])})
    expect(trace, "the peak", {"report": peak and peak[1], "check": gates.get("peak memory")})
    expect(trace, "the step in ns", {"report": report["step_ns"], "diff before": difference["before_step_ns"],
                                     "diff after": difference["after_step_ns"]})
    if report["step_ns"] == 0:
        return
    expect(trace, "the step", {"report": heading(text), "HTML": heading(html), "diff": mean_step(run(lacuna, "diff", trace, trace)),
                               "check": gates.get("step time")})


def planted(program, folder):
    """Traces of made-up runs, which the program writes."""
    run(program, folder)
    return sorted(pathlib.Path(folder).glob("*.lcn"))


def recorded(lacuna, program, seeds, folder):
    """Recordings of drawn programs of the runtime."""
    for seed in seeds:
        trace = os.path.join(folder, f"seed{seed}.lcn")
        words = runtime_programs.Programs(program, SECONDS).words(seed, ())
        run(lacuna, "run", "--no-report", "--force", "-o", trace, "--", *words)
        yield trace


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lacuna")
    parser.add_argument("traces", nargs="*")
    parser.add_argument("--planted", default="", help="planted_traces, which writes made-up runs")
    parser.add_argument("--training", default="", help="drawn_training, whose programs are recorded")
    parser.add_argument("--count", type=int, default=30, help="of these programs")
    parser.add_argument("--from", dest="first", type=int, default=1, help="their first seed")
    args = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        traces = args.traces + (planted(args.planted, folder) if args.planted else [])
        if args.training:
            traces += recorded(args.lacuna, args.training, range(args.first, args.first + args.count), folder)
        for trace in traces:
            compare(args.lacuna, trace, folder)
    print(f"{len(traces)} traces, {len(FAILED)} differences")
    sys.exit(1 if FAILED or not traces else 0)


if __name__ == "__main__":
    main()
