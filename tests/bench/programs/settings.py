# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Compares predicted gains of drawn programs with measured ones. Each program is recorded once. Then `lacuna whatif` predicts
each setting that can be applied from outside, and the program runs with and without it, in turns and without a recorder. The
faults of the program count as changes too: their findings predict the gain of the repair. All shares are of an iteration."""

import dataclasses
import json
import os
import statistics
import subprocess
import sys

import pairs
import score

# A compiler compiles again for a last batch that is smaller, and for an evaluation: in the first epochs.
WARM_UP_EPOCHS = {"fuse=on": 2}
# Turns go on until the noise is so small, or there are so many.
LEAST_ROUNDS, MOST_ROUNDS, LOW_NOISE = 6, 24, 0.015
SETTINGS = ("loader.workers=0", "loader.workers=1", "loader.workers=2", "loader.prefetch=8", "optimizer.fused=on",
            "zero_grad=none", "amp=on", "debug=off", "fuse=on")


@dataclasses.dataclass(frozen=True)
class Prediction:
    share: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    change: str
    predicted: Prediction
    measured: float
    noise: float  # SURE standard errors of what was measured

    def error(self):
        return abs(self.predicted.share - self.measured)

    def is_inside(self):
        """Whether the measurement lies in the interval of the prediction. Its own noise is not the prediction's fault."""
        return self.predicted.low - self.noise <= self.measured <= self.predicted.high + self.noise

    def has_wrong_sign(self):
        """The whole interval has one sign, and the measurement has the other one beyond its noise."""
        slower, faster = self.measured + self.noise < 0, self.measured - self.noise > 0
        return (self.predicted.low > 0 and slower) or (self.predicted.high < 0 and faster)

    def line(self):
        share, low, high = (100 * value for value in dataclasses.astuple(self.predicted))
        verdict = "" if self.is_inside() else "  OUTSIDE"
        verdict += "  WRONG SIGN" if self.has_wrong_sign() else ""
        return (f"{self.change:34} predicted {share:6.1f} % ({low:.1f} … {high:.1f}), measured {100 * self.measured:6.1f} % "
                f"± {100 * self.noise:.1f}{verdict}")


def is_enough(turns):
    rounds = len(turns[0])
    return rounds >= MOST_ROUNDS or (rounds >= LEAST_ROUNDS and score.measured_of(turns)[1] <= LOW_NOISE)


def warm_up_words(kind, setting):
    """The runtime compiles nothing."""
    epochs = WARM_UP_EPOCHS.get(setting, 0) if kind.name == "torch" else 0
    return ["--warm-up-epochs", str(epochs)] if epochs > 0 else []


class Recorded:
    """A drawn program and its recording."""

    def __init__(self, lacuna, kind, seed, folder):
        self.lacuna, self.kind, self.seed, self.folder = lacuna, kind, seed, folder
        self.trace = os.path.join(folder, f"seed{seed}.lcn")
        if not os.path.exists(self.trace):
            score.run(lacuna, "run", *kind.record_options, "--no-report", "--force", "-o", self.trace, "--", *kind.words(seed, ()))

    def predicted(self, setting):
        """None where the trace shows that the program has the setting, or has nothing to set."""
        done = subprocess.run([self.lacuna, "whatif", self.trace, setting, "--json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
        ns = json.loads(done.stdout)
        base = ns["measured_ns_per_step"]
        shares = [1 - ns[f"{key}_ns_per_step"] / base for key in ("predicted", "high", "low")]
        return Prediction(*shares)

    def environment(self, setting, report):
        """The hook without a recorder, as `lacuna tune` runs a program."""
        python = os.path.realpath(os.path.join(os.path.dirname(self.lacuna), "..", "lib", "python"))
        return [f"LACUNA_SET={setting}", f"LACUNA_SET_REPORT={report}", f"PYTHONPATH={python}"]

    def compared(self, setting):
        """None where the setting cannot be applied to the program."""
        predicted = self.predicted(setting)
        if predicted is None:
            return None
        report = os.path.join(self.folder, f"set{self.seed}")
        words = [str(word) for word in self.kind.words(self.seed, ())]
        try:
            turns = pairs.compare(words, ["env", *self.environment(setting, report), *words, *warm_up_words(self.kind, setting)], is_enough)
        except pairs.TrainingFailed:
            print(f"    {setting}: the program failed with it", file=sys.stderr, flush=True)
            return None
        if not was_applied(report):
            return None
        return Comparison(setting, predicted, *score.measured_of(turns))

    def repaired(self):
        """A comparison for each finding that predicts the gain of repairing faults of the program."""
        faults = self.kind.draw(self.seed)["faults"]
        findings = json.loads(score.run(self.lacuna, "report", self.trace, "--json"))["findings"]
        by_finding = {}
        for name in faults:
            fault = self.kind.by_name[name]
            priced = score.predicting([finding for finding in findings if finding["id"] in fault.findings])
            if priced is not None and not fault.memory:
                by_finding.setdefault(priced["id"], (priced, []))[1].append(name)
        for finding, names in by_finding.values():
            shares = [finding[f"{key}_share"] for key in ("predicted_gain", "gain_low", "gain_high")]
            turns = self.kind.turns(self.seed, tuple(names))
            yield Comparison(f"without {' and '.join(names)}", Prediction(*shares), *score.measured_of(turns))


def was_applied(report):
    """Whether the hook wrote that it set something."""
    if not os.path.exists(report):
        return False
    with open(report, encoding="utf-8") as file:
        outcomes = [line.split("\t")[2] for line in file if line.count("\t") > 2]
    os.remove(report)
    return "applied" in outcomes


def comparisons(lacuna, kind, folder, seeds):
    for seed in seeds:
        plan = kind.draw(seed)
        print(f"seed {seed}: {plan['family']}, loader {plan['loader']}, {', '.join(plan['faults']) or 'no fault'}", file=sys.stderr)
        try:
            program = Recorded(lacuna, kind, seed, folder)
            found = list(program.repaired())
            found += [each for each in map(program.compared, SETTINGS) if each is not None]
        except score.Failed as failure:
            print(f"seed {seed}: {failure}", file=sys.stderr, flush=True)
            continue
        for each in found:
            print(f"    {each.line()}", file=sys.stderr, flush=True)
        yield seed, found


def figures(lacuna, kind, folder, seeds):
    programs = {seed: found for seed, found in comparisons(lacuna, kind, folder, seeds)}
    cases = [each for found in programs.values() for each in found]
    if not cases:
        sys.exit("predict: no setting could be applied and no fault was priced, so there is nothing to compare")
    errors = sorted(each.error() for each in cases)
    return [("predict.programs", len(programs)), ("predict.cases", len(cases)),
            ("predict.median_error", statistics.median(errors)), ("predict.p90_error", errors[len(errors) * 9 // 10]),
            ("predict.worst_error", errors[-1]),
            ("predict.inside", sum(each.is_inside() for each in cases) / len(cases)),
            ("predict.wrong_signs", sum(each.has_wrong_sign() for each in cases))]
