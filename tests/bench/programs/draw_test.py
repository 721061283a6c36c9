#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the drawn programs' plans and of comparing two trainings; needs no PyTorch.
usage: draw_test.py [LACUNA DRAWN_TRAINING]"""

import contextlib
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import draw  # noqa: E402
import pairs  # noqa: E402
import runtime_programs  # noqa: E402
import settings  # noqa: E402
from faults import BY_NAME, CATALOGUE, EXCLUSIVE, go_together  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = range(600)
LACUNA, DRAWN_TRAINING = sys.argv[1:3] if len(sys.argv) > 2 else ("", "")
del sys.argv[1:]


def compared(predicted, low, high, measured, noise=0.0):
    return settings.Comparison("amp=on", settings.Prediction(predicted, low, high), measured, noise)


class Settings(unittest.TestCase):
    def test_the_noise_of_a_measurement_is_no_fault_of_the_prediction(self):
        self.assertTrue(compared(0.2, 0.1, 0.3, 0.31, 0.02).is_inside())
        self.assertFalse(compared(0.2, 0.1, 0.3, 0.31, 0.005).is_inside())
        self.assertAlmostEqual(compared(0.2, 0.1, 0.3, 0.31, 0.02).error(), 0.11)

    def test_a_sign_is_wrong_beyond_the_noise_where_the_interval_has_one(self):
        self.assertTrue(compared(0.2, 0.1, 0.3, -0.05, 0.01).has_wrong_sign())
        self.assertTrue(compared(-0.2, -0.3, -0.1, 0.05, 0.01).has_wrong_sign())
        self.assertFalse(compared(0.2, 0.1, 0.3, -0.05, 0.06).has_wrong_sign())
        self.assertFalse(compared(0.2, -0.1, 0.3, -0.05, 0.01).has_wrong_sign())

    def test_turns_end_when_their_noise_is_low_or_they_are_many(self):
        alike = [[1000, 10], [1002, 10]]
        restless = [[1000, 10], [3000, 10]]
        self.assertFalse(settings.is_enough((alike * 2, alike * 2)))
        self.assertTrue(settings.is_enough((alike * 3, alike * 3)))
        self.assertFalse(settings.is_enough((restless * 3, alike * 3)))
        self.assertTrue(settings.is_enough((restless * 12, alike * 12)))

    def test_a_setting_counts_where_the_hook_applied_it(self):
        for outcome, applied in (("applied", True), ("same", False), ("refused", False)):
            with tempfile.NamedTemporaryFile("w", delete=False) as report:
                report.write(f"7\tamp=on\t{outcome}\t1\tmodule\t-\ttrain.py:1\t\n")
            self.assertEqual(settings.was_applied(report.name), applied)
        self.assertFalse(settings.was_applied("/nonexistent/report"))


class Plans(unittest.TestCase):
    def test_a_seed_always_gives_the_same_plan(self):
        for seed in SEEDS[:50]:
            self.assertEqual(draw.draw(seed), draw.draw(seed))

    def test_every_family_fault_and_number_of_faults_is_drawn(self):
        plans = [draw.draw(seed) for seed in SEEDS]
        self.assertEqual({plan["family"] for plan in plans}, set(draw.FAMILIES))
        self.assertEqual({name for plan in plans for name in plan["faults"]}, set(BY_NAME))
        self.assertEqual({len(plan["faults"]) for plan in plans}, {0, 1, 2})

    def test_every_epoch_has_batches(self):
        for seed in SEEDS:
            plan = draw.draw(seed)
            self.assertGreaterEqual(plan["samples"] // plan["network"]["batch"], draw.LEAST_BATCHES)

    def test_faults_fit_their_program_and_each_other(self):
        for seed in SEEDS:
            plan = draw.draw(seed)
            for name in plan["faults"]:
                self.assertTrue(BY_NAME[name].fits(plan), f"{name} of seed {seed}")
            if len(plan["faults"]) == 2:
                self.assertTrue(go_together(*plan["faults"]), f"seed {seed}")

    def test_repairing_a_fault_changes_nothing_else(self):
        for seed in SEEDS[:200]:
            plan = draw.draw(seed)
            for name in plan["faults"]:
                repaired = draw.without(plan, [name])
                self.assertEqual({**repaired, "faults": plan["faults"]}, plan)
                self.assertNotIn(name, repaired["faults"])
            self.assertEqual(draw.without(plan, ["all"])["faults"], [])
            self.assertEqual(draw.without(plan, ["loader"]), {**plan, "loader": "none"})

    def test_an_unknown_fault_is_an_error_that_lists_them(self):
        with self.assertRaisesRegex(ValueError, "no fault slow-loder; there are: slow-storage"):
            draw.without(draw.draw(1), ["slow-loder"])


class RuntimePlans(unittest.TestCase):
    def test_every_family_fault_and_number_of_faults_is_drawn(self):
        plans = [runtime_programs.draw(seed) for seed in SEEDS]
        self.assertEqual(plans[7], runtime_programs.draw(7))
        self.assertEqual({plan["family"] for plan in plans}, set(runtime_programs.FAMILIES))
        self.assertEqual({name for plan in plans for name in plan["faults"]}, set(runtime_programs.BY_NAME))
        self.assertEqual({len(plan["faults"]) for plan in plans}, {0, 1, 2})

    def test_faults_fit_their_program_and_each_other(self):
        for plan in map(runtime_programs.draw, SEEDS):
            for name in plan["faults"]:
                self.assertTrue(runtime_programs.BY_NAME[name].fits(plan), plan)
            if len(plan["faults"]) == 2:
                self.assertTrue(go_together(*plan["faults"], runtime_programs.EXCLUSIVE), plan)

    @unittest.skipIf(not DRAWN_TRAINING, "no program to run")
    def test_a_program_with_each_fault_trains(self):
        for fault in runtime_programs.CATALOGUE:
            seed = next(seed for seed in SEEDS if fault.name in runtime_programs.draw(seed)["faults"])
            words = runtime_programs.Programs(DRAWN_TRAINING, 0.05).words(seed, ())
            with self.subTest(fault=fault.name, words=" ".join(words)):
                done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class Pairs(unittest.TestCase):
    def setUp(self):
        for name, value in (("TURN_S", 0.05), ("WARM_UP_S", 0.02), ("WARM_UP_ITERATIONS", 2), ("ROUNDS", 3)):
            patched = unittest.mock.patch.object(pairs, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    @staticmethod
    def sleeping(seconds):
        def train(_, turns):
            while not turns.over(0):
                time.sleep(seconds)

        return train

    def test_each_side_has_its_own_iterations(self):
        quick, slow = pairs.compare(self.sleeping(0.002), self.sleeping(0.02))
        self.assertEqual((len(quick), len(slow)), (3, 3))
        for turns, seconds in ((quick, 0.002), (slow, 0.02)):
            ns, iterations = (sum(column) for column in zip(*turns))
            self.assertGreaterEqual(ns / iterations, seconds * 1e9)
        self.assertGreater(quick[0][1], slow[0][1])

    def test_a_side_stands_still_while_the_other_has_its_turn(self):
        iterations, moved = (multiprocessing.Value("Q", lock=False) for _ in range(2))

        def counted(_, turns):
            while not turns.over(0):
                iterations.value += 1
                time.sleep(0.001)

        def watching(_, turns):
            while not turns.over(0):
                before = iterations.value
                time.sleep(0.005)
                moved.value += iterations.value != before

        pairs.compare(counted, watching)
        self.assertGreater(iterations.value, 0)
        self.assertEqual(moved.value, 0)

    @unittest.skipIf(not DRAWN_TRAINING, "no program to run")
    def test_commands_take_turns_too(self):
        plan = {**runtime_programs.draw(1), "faults": ["sleeps"], "fault-us": 30000, "batch": 8, "loader": "memory"}
        words = [[DRAWN_TRAINING, *runtime_programs.flags(runtime_programs.without(plan, repaired))] for repaired in ((), ("all",))]
        before, after = pairs.compare(*words)
        self.assertEqual((len(before), len(after)), (3, 3))
        self.assertGreater(before[0][0] / before[0][1], 30e6)
        self.assertLess(after[0][0] / after[0][1], 30e6)

    def test_a_command_may_finish_behind_its_last_turn(self):
        """As a recorder does, which has a file to write."""
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept")
            program = f"""
import sys
sys.path.insert(0, {HERE!r})
import pairs
turns = pairs.Turns(*map(int, reversed(sys.argv[-1].split(","))))
try:
    while not turns.over(0):
        pass
finally:
    open({kept!r}, "w").close()
"""
            pairs.compare(self.sleeping(0.002), [sys.executable, "-c", program])
            self.assertTrue(os.path.exists(kept))

    def test_a_training_that_fails_ends_the_comparison(self):
        with self.assertRaisesRegex(pairs.TrainingFailed, "a training failed"), contextlib.redirect_stderr(io.StringIO()):
            pairs.compare(self.sleeping(0.002), lambda *_: 1 / 0)


class Catalogue(unittest.TestCase):
    def test_names_are_unique_and_groups_name_faults(self):
        self.assertEqual(len(BY_NAME), len(CATALOGUE))
        self.assertEqual(len(runtime_programs.BY_NAME), len(runtime_programs.CATALOGUE))
        for group in EXCLUSIVE:
            self.assertLessEqual(group, set(BY_NAME))
        for group in runtime_programs.EXCLUSIVE:
            self.assertLessEqual(group, set(runtime_programs.BY_NAME))

    @unittest.skipIf(not LACUNA, "no lacuna to ask")
    def test_findings_are_those_of_the_report(self):
        listed = json.loads(subprocess.run([LACUNA, "report", "--list-findings", "--json"], capture_output=True, check=True).stdout)
        known = {finding["id"] for finding in listed["findings"]}
        for fault in (*CATALOGUE, *runtime_programs.CATALOGUE):
            self.assertLessEqual(set(fault.findings), known, fault.name)


if __name__ == "__main__":
    unittest.main()
