# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Records drawn programs and compares the report's findings with the faults that the programs have. A fault
counts where repairing it makes the unrecorded program faster by LEAST_GAIN or more, beyond the noise, or where it costs
memory. A finding is false where it names no fault of the program and stays when all of them are repaired. The gain
that a finding predicts is compared with the measured one; both are shares of an iteration."""

import dataclasses
import json
import os
import statistics
import subprocess
import sys

import draw
from faults import BY_NAME

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST_GAIN = 0.05
# Standard errors that a gain has to lie above LEAST_GAIN.
SURE = 2


class Failed(Exception):
    """A command of the comparison that did not end well."""


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def measured_of(turns):
    """The share by which the second side's iterations are shorter, and SURE standard errors of it."""
    before, after = turns
    means = [sum(ns for ns, _ in side) / sum(iterations for _, iterations in side) for side in turns]
    rounds = [1 - (b[0] / b[1]) / (a[0] / a[1]) for a, b in zip(before, after)]
    return 1 - means[1] / means[0], SURE * statistics.stdev(rounds) / len(rounds) ** 0.5


@dataclasses.dataclass(frozen=True)
class Gain:
    share: float  # of an iteration
    least: float  # that it may be

    def matters(self):
        return self.least >= LEAST_GAIN


class TorchPrograms:
    """Drawn programs of PyTorch."""

    name, by_name, record_options = "torch", BY_NAME, ("--torch",)

    def __init__(self, python, seconds):
        self.program, self.seconds = [python, os.path.join(HERE, "torch_training.py")], seconds
        self.server = None

    @staticmethod
    def draw(seed):
        return draw.draw(seed)

    def words(self, seed, without):
        return [*self.program, "--seed", seed, "--seconds", self.seconds, "--without", ",".join(without)]

    def turns(self, seed, without):
        """The turns of the program as it was drawn, and of the repaired one. One server measures all: PyTorch is long in
        coming."""
        if self.server is None or self.server.poll() is not None:
            self.server = subprocess.Popen([*self.program, "--compare"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.server.stdin.write(f"{seed} {','.join(without)}\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        if not answer:
            raise Failed(f"the training of seed {seed} without {without} failed")
        return json.loads(answer)


class Programs:
    """Runs drawn programs of a kind, recorded or not. With `keep` recordings and gains stay in the folder, and those that
    lie there are used again: an analyzer can be judged anew without a run."""

    def __init__(self, lacuna, kind, folder, keep):
        self.lacuna, self.kind, self.folder, self.keep = lacuna, kind, folder, keep
        self.kept_gains = os.path.join(folder, "gains.json")
        self.gains = {}
        if keep and os.path.exists(self.kept_gains):
            with open(self.kept_gains, encoding="utf-8") as file:
                self.gains = {key: Gain(*gain) for key, gain in json.load(file).items()}

    def findings(self, seed, without):
        """The findings in the report of a recording."""
        trace = os.path.join(self.folder, f"seed{seed}{'.repaired' if without else ''}.lcn")
        if not self.keep or not os.path.exists(trace):
            words = self.kind.words(seed, without)
            run(self.lacuna, "run", *self.kind.record_options, "--no-report", "--force", "-o", trace, "--", *words)
        report = json.loads(run(self.lacuna, "report", trace, "--json"))
        if not self.keep:
            os.remove(trace)
        return report["findings"]

    def gain(self, seed, without):
        """By what share an unrecorded iteration is shorter, as a Gain."""
        key = f"{seed} without {','.join(without)}"
        if key not in self.gains:
            self.gains[key] = self.measured_gain(seed, without)
            if self.keep:
                with open(self.kept_gains, "w", encoding="utf-8") as file:
                    json.dump({name: dataclasses.astuple(gain) for name, gain in self.gains.items()}, file, indent=1)
        return self.gains[key]

    def measured_gain(self, seed, without):
        share, noise = measured_of(self.kind.turns(seed, without))
        return Gain(share, share - noise)


class Score:
    def __init__(self, name):
        self.name = name
        self.cases = self.planted = self.found = self.rightly = self.wrongly = 0
        self.errors, self.inside = [], 0

    def predicted(self, finding, gain):
        """A line about the prediction of a finding whose fault brings so much."""
        share, low, high = (finding[f"{key}_share"] for key in ("predicted_gain", "gain_low", "gain_high"))
        self.errors.append(abs(share - gain))
        self.inside += low <= gain <= high
        return f"{100 * share:.0f} % predicted ({100 * low:.0f} … {100 * high:.0f})"

    def figures(self):
        named = self.rightly + self.wrongly
        figures = {"cases": self.cases, "faults": self.planted, "recall": self.found / max(1, self.planted),
                   "precision": self.rightly / max(1, named)}
        if self.errors:
            ordered = sorted(self.errors)
            figures |= {"predictions": len(ordered), "median_error": statistics.median(ordered),
                        "p90_error": ordered[len(ordered) * 9 // 10], "inside": self.inside / len(ordered)}
        return [(f"{self.name}.{figure}", value) for figure, value in figures.items()]


def predicting(findings):
    """The finding whose gain the repair of its fault should bring: the one that predicts most."""
    priced = [finding for finding in findings if not finding["not_predicted"] and finding["base_ns_per_step"] > 0]
    return max(priced, key=lambda finding: finding["predicted_gain_ns_per_step"], default=None)


def judge_faults(programs, seed, faults, findings, total):
    """A line for each fault of the program. A finding that names several of its faults predicts what all of them cost."""
    predictions = set()
    for name in faults:
        fault = programs.kind.by_name[name]
        gain = None if fault.memory else programs.gain(seed, (name,))
        naming = [finding for finding in findings if finding["id"] in fault.findings]
        matters = fault.memory or gain.matters()
        total.planted += matters
        total.found += matters and bool(naming)
        text = "memory" if gain is None else f"{100 * gain.share:.0f} % faster without it"
        priced = None if gain is None else predicting(naming)
        if priced is not None and priced["id"] not in predictions:
            predictions.add(priced["id"])
            by_name = programs.kind.by_name
            sharing = tuple(other for other in faults if priced["id"] in by_name[other].findings and not by_name[other].memory)
            together = gain if len(sharing) == 1 else programs.gain(seed, sharing)
            text += f", {total.predicted(priced, together.share)}"
            text += f" for {' and '.join(sharing)}, {100 * together.share:.0f} %" if len(sharing) > 1 else ""
        named = ", ".join(finding["id"] for finding in naming)
        yield f"{'found ' if naming else 'MISSED' if matters else 'small '} {name} ({text}): {named or '-'}"


def is_confirmed(programs, seed, finding):
    """Whether the run that could refute the finding does not. For a wait for the loader, that run has its batches in
    memory. It refutes the finding if it takes as long."""
    return finding["id"] == "loader-wait" and programs.gain(seed, ("loader",)).share >= LEAST_GAIN


def judge_findings(programs, seed, faults, findings, total):
    """A line for each finding that claims a fault which is not there. Such a finding names none of the program's
    faults, and the program without its faults has it too. No further run confirms it."""
    expected = {key for name in faults for key in programs.kind.by_name[name].findings}
    claims = [finding for finding in findings if finding["kind"] == "fault"]
    doubtful = faults and any(finding["id"] not in expected for finding in claims)
    remaining = {finding["id"] for finding in programs.findings(seed, ("all",))} if doubtful else set()
    for finding in claims:
        is_right = finding["id"] in expected or (faults and finding["id"] not in remaining)
        is_right = is_right or is_confirmed(programs, seed, finding)
        total.rightly += bool(is_right)
        total.wrongly += not is_right
        if not is_right:
            yield f"FALSE  {finding['title']} [{finding['id']}]"


def judge(programs, seed, total):
    plan = programs.kind.draw(seed)
    findings = programs.findings(seed, ())
    total.cases += 1
    print(f"seed {seed}: {plan['family']}, {len(plan['faults'])} faults, {len(findings)} findings", file=sys.stderr)
    for line in judge_faults(programs, seed, plan["faults"], findings, total):
        print(f"    {line}", file=sys.stderr, flush=True)
    for line in judge_findings(programs, seed, plan["faults"], findings, total):
        print(f"    {line}", file=sys.stderr, flush=True)


def score(lacuna, kind, folder, seeds, keep=False):
    total = Score(kind.name)
    programs = Programs(lacuna, kind, folder, keep)
    for seed in seeds:
        try:
            judge(programs, seed, total)
        except Failed as failure:
            print(f"seed {seed}: {failure}", file=sys.stderr, flush=True)
    return total.figures()
