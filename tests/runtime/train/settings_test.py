#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Settings and timed steps of a program of the runtime, from outside: settings_test.py LACUNA SAMPLE, with the sample
mlp_digits."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

LACUNA, SAMPLE = sys.argv[1:3]
del sys.argv[1:]
FAULTY = ("--loader.workers", "0", "--optimizer.fused", "off", "--zero_grad", "zero", "--debug", "on")


class Sample(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.report = os.path.join(self.folder, "report")

    def run_it(self, *words, **variables):
        done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def train(self, settings, *flags, steps=20, **variables):
        done = self.run_it(SAMPLE, "--steps", str(steps), *flags, LACUNA_SET=settings, LACUNA_SET_REPORT=self.report, **variables)
        self.lines = []
        if os.path.exists(self.report):
            with open(self.report, encoding="utf-8") as file:
                self.lines = [tuple(line.rstrip("\n").split("\t")) for line in file]
        return done

    def outcomes(self):
        """By setting and outcome: the last count, the thing, what it was, and why."""
        return {(line[1], line[2]): (int(line[3]), line[4], line[5], line[7]) for line in self.lines}


class Settings(Sample):
    def test_take_the_place_of_what_the_program_chose(self):
        plain = self.train("", *FAULTY)
        done = self.train("loader.workers=2,optimizer.fused=on,zero_grad=none,debug=off", *FAULTY)
        self.assertEqual(self.outcomes(), {
            ("loader.workers=2", "applied"): (1, "rt::DataLoader", "0", ""),
            ("optimizer.fused=on", "applied"): (1, "rt::Optimizer", "off", ""),
            ("zero_grad=none", "applied"): (20, "rt::zeroGrad() call", "zero", ""),
            ("debug=off", "applied"): (1, "rt::AnomalyMode", "on", "")})
        losses = [float(re.findall(r"loss ([0-9.]+)", run.stdout)[-1]) for run in (plain, done)]
        self.assertAlmostEqual(*losses, places=4, msg="what it learns stays the same")

    def test_that_the_program_has_already_are_reported(self):
        self.train("loader.workers=3,zero_grad=none", "--loader.workers", "3")
        self.assertEqual(self.outcomes()["loader.workers=3", "same"], (1, "rt::DataLoader", "", ""))
        self.assertEqual(self.outcomes()["zero_grad=none", "same"], (20, "rt::zeroGrad() call", "", ""))

    def test_of_amp_are_for_the_outermost_module(self):
        done = self.train("amp=on")
        self.assertEqual(self.outcomes()["amp=on", "applied"], (20, "outermost rt::Module", "off", ""))
        self.assertNotIn("nan", done.stdout)

    def test_of_amp_may_name_bf16_and_not_f16_which_needs_more(self):
        self.train("amp=bf16")
        self.assertEqual(self.outcomes()["amp=bf16", "applied"], (20, "outermost rt::Module", "off", ""))
        self.train("amp=f16")
        self.assertIn("needs a GradScaler", self.outcomes()["amp=f16", "refused"][3])

    def test_of_static_graph_replay_the_steps_of_programs_that_have_one(self):
        plain = self.train("")
        done = self.train("static_graph=on")
        self.assertEqual(self.outcomes()["static_graph=on", "applied"], (1, "rt::StaticGraph", "off", ""))
        self.assertIn("static graph: 18 steps replayed, 2 traced, 0 plain\n", done.stdout)
        without = "".join(line for line in done.stdout.splitlines(True) if not line.startswith("static graph"))
        self.assertEqual(plain.stdout.split("peak")[0], without.split("peak")[0])

    def test_that_make_no_sense_or_do_not_exist_are_left_out(self):
        self.train("loader.workers=many,zero_grad=some,channels_last=on,loader.prefetch=3", "--loader.workers", "0")
        outcomes = self.outcomes()
        self.assertIn("no whole number", outcomes["loader.workers=many", "refused"][3])
        self.assertIn("neither none nor zero", outcomes["zero_grad=some", "refused"][3])
        self.assertIn("no such setting", outcomes["channels_last=on", "refused"][3])
        self.assertIn("no workers", outcomes["loader.prefetch=3", "refused"][3])

    def test_without_a_file_are_summed_up_at_the_end(self):
        done = self.run_it(SAMPLE, "--steps", "3", "--zero_grad", "zero", LACUNA_SET="zero_grad=none", LACUNA_SET_REPORT="")
        self.assertIn("lacuna: set zero_grad=none (was zero): 3 rt::zeroGrad() call", done.stderr)

    def test_of_a_recording_are_printed_and_recorded(self):
        trace = os.path.join(self.folder, "out.lcn")
        done = self.run_it(LACUNA, "run", "--no-report", "-o", trace, "--set", "optimizer.fused=on", "--", SAMPLE, "--steps", "5",
                           "--optimizer.fused", "off")
        self.assertIn("set optimizer.fused=on (was off) on 1 rt::Optimizer", done.stderr)
        knobs = self.run_it(LACUNA, "query", trace, "select value from environment where key = 'set.optimizer.fused'")
        self.assertIn("(was off)", knobs.stdout)


class StepTimes(Sample):
    def times(self, *flags, **options):
        path = os.path.join(self.folder, "times")
        self.train("", *flags, LACUNA_STEP_TIMES=path, **options)
        with open(path, encoding="utf-8") as file:
            return [line.split()[1:] for line in file]

    def test_end_the_program_after_so_many_steps(self):
        lines = self.times(steps=1_000_000, LACUNA_STEPS="6", LACUNA_WARM_UP_STEPS="2")
        steps = [[int(word) for word in words[1:]] for words in lines if words[0] == "step"]
        self.assertEqual([number for number, _, _ in steps], list(range(6)))
        self.assertTrue(all(begin < end for _, begin, end in steps))
        self.assertTrue(all(before[2] <= after[1] for before, after in zip(steps, steps[1:])))
        losses = [float(words[2]) for words in lines if words[0] == "loss"]
        self.assertEqual(len(losses), 6)
        self.assertTrue(all(0 < loss < 100 for loss in losses))
        self.assertGreater(int(next(words[1] for words in lines if words[0] == "memory")), 0)
        self.assertEqual(lines[-1], ["end", "steps"])
        again = self.times("--static_graph", "on", steps=1_000_000, LACUNA_STEPS="6", LACUNA_WARM_UP_STEPS="2")
        self.assertEqual([float(words[2]) for words in again if words[0] == "loss"][-6:], losses, "losses of replays, too")

    def test_of_a_program_that_ends_by_itself(self):
        lines = self.times(steps=3)
        self.assertEqual(len([words for words in lines if words[0] == "step"]), 3)
        self.assertEqual(lines[-1], ["end", "program"])

    def test_are_what_tune_measures(self):
        done = self.run_it(LACUNA, "tune", "--budget", "60s", "--steps", "10", "--knobs", "zero_grad", "--", SAMPLE, "--steps", "1000000",
                           "--zero_grad", "zero")
        self.assertRegex(done.stdout, r"zero_grad=none +[0-9.-]+ % +[0-9.-]+ % [(]")


if __name__ == "__main__":
    unittest.main()
