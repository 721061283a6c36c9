# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Records drawn PyTorch programs and compares the report's findings with the faults that the programs have. A fault
counts where repairing it makes the unrecorded program faster by LEAST_GAIN or more, or where it costs memory. A finding
is false where it names no fault of the program and stays when all of them are repaired."""

import json
import os
import statistics
import subprocess
import sys

import draw
from faults import BY_NAME

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "torch_training.py")
LEAST_GAIN = 0.05
PAIRS = 3


class Failed(Exception):
    """A command of the comparison that did not end well."""


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def iteration_ns(times):
    """The mean iteration; the first quarter is warm-up."""
    with open(times, encoding="utf-8") as file:
        ends = [int(line) for line in file]
    ends = ends[len(ends) // 4:]
    return (ends[-1] - ends[0]) / (len(ends) - 1)


class Programs:
    """Runs drawn programs, recorded or not."""

    def __init__(self, lacuna, python, folder, seconds):
        self.lacuna, self.python, self.folder, self.seconds = lacuna, python, folder, seconds

    def words(self, seed, without):
        return [self.python, PROGRAM, "--seed", seed, "--seconds", self.seconds, "--without", ",".join(without)]

    def findings(self, seed, without, keep):
        """What the report of a recording finds."""
        trace = os.path.join(self.folder, f"seed{seed}{'.repaired' if without else ''}.lcn")
        run(self.lacuna, "run", "--torch", "--no-report", "--force", "-o", trace, "--", *self.words(seed, without))
        report = json.loads(run(self.lacuna, "report", trace, "--json"))
        if not keep:
            os.remove(trace)
        return report["findings"]

    def plain_ns(self, seed, without):
        times = os.path.join(self.folder, "times")
        run(*self.words(seed, without), "--times", times)
        return iteration_ns(times)

    def gain(self, seed, without):
        """By what share an unrecorded iteration is shorter; in pairs, so that what drifts does not look like a gain."""
        gains = []
        for pair in range(PAIRS):
            order = ((), without) if pair % 2 == 0 else (without, ())
            ns = {repaired: self.plain_ns(seed, repaired) for repaired in order}
            gains.append(1 - ns[without] / ns[()])
        return statistics.median(gains)


class Score:
    def __init__(self):
        self.cases = self.planted = self.found = self.rightly = self.wrongly = 0

    def figures(self):
        named = self.rightly + self.wrongly
        return [("torch.cases", self.cases), ("torch.faults", self.planted), ("torch.recall", self.found / max(1, self.planted)),
                ("torch.precision", self.rightly / max(1, named))]


def judge_faults(programs, seed, faults, found, total):
    """A line for each fault of the program."""
    for name in faults:
        fault = BY_NAME[name]
        gain = None if fault.memory else programs.gain(seed, (name,))
        named = [key for key in fault.findings if key in found]
        matters = fault.memory or gain >= LEAST_GAIN
        total.planted += matters
        total.found += matters and bool(named)
        text = "memory" if gain is None else f"{100 * gain:.0f} % faster without it"
        yield f"{'found ' if named else 'MISSED' if matters else 'small '} {name} ({text}): {', '.join(named) or '-'}"


def is_confirmed(programs, seed, finding):
    """Whether a run that would refute the finding does not. Of a wait for the loader that is one with its batches in
    memory, which takes as long."""
    return finding["id"] == "loader-wait" and programs.gain(seed, ("loader",)) >= LEAST_GAIN


def judge_findings(programs, seed, faults, findings, keep, total):
    """A line for each finding that claims a fault which is not there: one that names none of the program's, that the
    program without its faults has too, and that a further run refutes."""
    expected = {key for name in faults for key in BY_NAME[name].findings}
    claims = [finding for finding in findings if finding["kind"] == "fault"]
    doubtful = faults and any(finding["id"] not in expected for finding in claims)
    remaining = {finding["id"] for finding in programs.findings(seed, ("all",), keep)} if doubtful else set()
    for finding in claims:
        is_right = finding["id"] in expected or (faults and finding["id"] not in remaining)
        is_right = is_right or is_confirmed(programs, seed, finding)
        total.rightly += bool(is_right)
        total.wrongly += not is_right
        if not is_right:
            yield f"FALSE  {finding['title']} [{finding['id']}]"


def judge(programs, seed, total, keep):
    plan = draw.draw(seed)
    findings = programs.findings(seed, (), keep)
    total.cases += 1
    print(f"seed {seed}: {plan['family']}, {len(plan['faults'])} faults, {len(findings)} findings", file=sys.stderr)
    found = {finding["id"] for finding in findings}
    for line in judge_faults(programs, seed, plan["faults"], found, total):
        print(f"    {line}", file=sys.stderr, flush=True)
    for line in judge_findings(programs, seed, plan["faults"], findings, keep, total):
        print(f"    {line}", file=sys.stderr, flush=True)


def score(lacuna, python, folder, seeds, seconds=4, keep=False):
    total = Score()
    programs = Programs(lacuna, python, folder, seconds)
    for seed in seeds:
        try:
            judge(programs, seed, total, keep)
        except Failed as failure:
            print(f"seed {seed}: {failure}", file=sys.stderr, flush=True)
    return total.figures()
