#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Kills recorded programs and their supervisors, and cuts the power, at moments picked by chance; then compares the trace with what was emitted.

A kill is known by the seed and its number: `--seed S --only N` makes the same choices again, though the processes run as they like. The exit code
is 0 where every trace holds what it must, 1 where one does not, 2 for wrong usage."""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import power  # noqa: E402
import processes  # noqa: E402
import trial  # noqa: E402

POWER_EVERY = 5  # one kill in so many is a power cut
Setting = collections.namedtuple("Setting", "lacuna program silent tracer own_memory")


def setting_of(options, own_memory):
    bin = pathlib.Path(options.bin).resolve()
    return Setting(*(str(bin / name) for name in ("lacuna", "kill_program", "silent_program", "fault_tracer")), own_memory)


class Worker:
    def __init__(self, options, cuts_power):
        processes.adopt_orphans()
        self.options, self.cuts_power = options, cuts_power
        self.setting = setting_of(options, processes.have_own_shared_memory())
        self.kinds = [kind for kind in trial.KINDS if options.kind in (None, kind.name) and (not kind.silent or os.path.exists(self.setting.silent))]

    def attempt(self, number):
        if not self.kinds or self.cuts_power and number % POWER_EVERY == POWER_EVERY - 1:
            plan = power.Plan(self.options.seed, number)
            attempt = power.Cut(self.setting, plan)
        else:
            plan = trial.Plan(self.options.seed, number, self.kinds)
            attempt = trial.Trial(self.setting, plan)
        start = time.monotonic()
        try:
            outcome = attempt.run()
        finally:
            attempt.close()
        return number, plan.kind.name, plan.target, str(plan), outcome, time.monotonic() - start


worker = None


def begin(*arguments):
    global worker
    worker = Worker(*arguments)


def attempt(number):
    number, kind, target, plan, outcome, seconds = worker.attempt(number)
    return number, kind, target, plan, outcome.how, outcome.problems, outcome.events, outcome.dropped, seconds


def kill_all(options, cuts_power):
    numbers = [options.only] if options.only is not None else range(options.kills)
    results, start, shown = [], time.monotonic(), 0.0
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=begin, initargs=(options, cuts_power)) as pool:
        for done, result in enumerate(pool.map(attempt, numbers), 1):
            results.append(result)
            number, _, _, plan, how, problems, _, _, seconds = result
            for problem in problems:
                print(f"kill {number} ({plan}; {how}): {problem}", flush=True)
            if options.verbose:
                print(f"kill {number}: {plan}; {how}: {result[6]} events, {result[7]} dropped, {seconds:.2f} s", flush=True)
            now = time.monotonic()
            if now - shown > (1 if sys.stderr.isatty() else 15):
                shown = now
                wrong = sum(1 for one in results if one[5])
                print(f"{done} of {len(numbers)} kills, {wrong} wrong, {now - start:.0f} s", file=sys.stderr, flush=True)
    return results, time.monotonic() - start


def summary(options, results, seconds):
    wrong = sum(1 for one in results if one[5])
    print(f"{len(results)} kills (seed {options.seed}) in {seconds:.0f} s: {wrong} with something wrong")
    for title, at in (("kind", 1), ("killed", 2)):
        groups = collections.defaultdict(list)
        for one in results:
            groups[one[at]].append(one)
        print(f"  {title:12} {'kills':>6} {'wrong':>6} {'recorded':>12} {'dropped':>12}")
        for name, ones in groups.items():
            print(f"  {name:12} {len(ones):6} {sum(1 for one in ones if one[5]):6} {sum(one[6] for one in ones):12,} {sum(one[7] for one in ones):12,}")
    ways = collections.Counter(one[4] for one in results)
    print("  traces from: " + ", ".join(f"{how} {count}" for how, count in ways.most_common()))


def main():
    parser = argparse.ArgumentParser(prog="kills", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="the folder with lacuna, kill_program and fault_tracer")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the kill of this number alone")
    parser.add_argument("--kind", choices=[kind.name for kind in trial.KINDS] + ["traced"], help="programs of this kind alone; traced: power cuts")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="a line for each kill")
    options = parser.parse_args()
    for name in ("lacuna", "kill_program"):
        if not (pathlib.Path(options.bin) / name).exists():
            parser.error(f"there is no {options.bin}/{name}; build it first")
    cuts_power = options.kind in (None, "traced") and power.can_trace(setting_of(options, False))
    if options.kind == "traced" and not cuts_power:
        parser.error("processes cannot be traced here, or fault_tracer is not built")
    if options.kind is None and not cuts_power:
        print("kills: processes cannot be traced here, so no power is cut", file=sys.stderr)
    results, seconds = kill_all(options, cuts_power)
    summary(options, results, seconds)
    return 1 if any(one[5] for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
