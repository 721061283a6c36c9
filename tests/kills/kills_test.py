#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""kills_test.py [BIN]: the verdict finds traces that are wrong. With the folder of the programs, a damaged recording is found too."""

import collections
import copy
import mmap
import os
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import expected  # noqa: E402
import judge  # noqa: E402
import kills  # noqa: E402
import processes  # noqa: E402
import trial  # noqa: E402

BIN = None
DEEP = 3
Options = collections.namedtuple("Options", "bin")


def thread(steps, in_flight=True, pid=10, tid=11):
    return judge.Thread(pid, tid, steps, in_flight)


def trace(steps, dropped=0, pid=10, tid=11):
    rows = {group: list(numbers) for group, numbers in expected.rows(steps, DEEP).items()}
    return judge.Found({(pid, tid): rows} if rows else {}, {pid: dropped} if dropped else {}, 1, 2)


class Expectations(unittest.TestCase):
    def test_a_step_changes_one_row(self):
        for steps in range(100):
            before, after = (expected.rows(n, DEEP) for n in (steps, steps + 1))
            changed = [group for group in set(before) | set(after) if before.get(group) != after.get(group)]
            self.assertLessEqual(len(changed), 2, changed)  # a range that ends goes from one group to another
            self.assertTrue(changed)
            more = sum(map(len, after.values())) - sum(map(len, before.values()))
            self.assertEqual(expected.events(steps + 1, DEEP) - expected.events(steps, DEEP), more)

    def test_events_are_the_rows_with_a_begin(self):
        for steps in range(100):
            self.assertEqual(expected.events(steps, DEEP), sum(map(len, expected.rows(steps, DEEP).values())))


class Verdicts(unittest.TestCase):
    STEPS = 83

    def damaged(self, change):
        there = trace(self.STEPS)
        change(next(iter(there.threads.values())))
        return there

    def test_what_was_emitted_is_right_with_a_step_in_flight_or_without(self):
        for steps in range(120):
            self.assertEqual(judge.complete([thread(steps)], trace(steps), DEEP), [])
            self.assertEqual(judge.complete([thread(steps)], trace(steps + 1), DEEP), [])
            self.assertNotEqual(judge.complete([thread(steps)], trace(steps + 2), DEEP), [])
            self.assertNotEqual(judge.complete([thread(steps + 1)], trace(steps), DEEP), [])
            self.assertNotEqual(judge.complete([thread(steps, in_flight=False)], trace(steps + 1), DEEP), [])

    def test_a_row_that_is_missing_or_twice_or_moved_or_changed_is_found(self):
        for group in expected.rows(self.STEPS, DEEP):
            changes = {"missing": lambda rows: rows[group].pop(), "first missing": lambda rows: rows[group].pop(0), "twice": lambda rows: rows[group].append(rows[group][-1]),
                       "changed": lambda rows: rows[group].__setitem__(0, 999), "depth": lambda rows: rows.__setitem__(group._replace(level=9), rows.pop(group)),
                       "colour": lambda rows: rows.__setitem__(group._replace(colour=2), rows.pop(group)),
                       "text": lambda rows: rows.__setitem__(group._replace(text="x"), rows.pop(group)), "group missing": lambda rows: rows.pop(group)}
            if len(expected.rows(self.STEPS, DEEP)[group]) > 1:
                changes["order"] = lambda rows: rows[group].reverse()
            for name, change in changes.items():
                with self.subTest(f"{name} in {group.name}"):
                    self.assertNotEqual(judge.complete([thread(self.STEPS)], self.damaged(change), DEEP), [])

    def test_rows_of_somebody_else_are_found(self):
        there = trace(self.STEPS)
        there.threads[10, 99] = copy.deepcopy(there.threads[10, 11])
        for check in (judge.complete, judge.lossy, judge.part):
            self.assertNotEqual(check([thread(self.STEPS)], there, DEEP), [])

    def test_what_is_missing_must_be_counted(self):
        def lose(rows):
            del rows[expected.MARK][3:5]
        for dropped, right in ((0, False), (1, False), (2, True), (3, True), (4, False)):
            there = self.damaged(lose)._replace(dropped={10: dropped})
            # Behind step 83 comes the mark of step 84 at most, which is one event more.
            self.assertEqual(judge.lossy([thread(self.STEPS)], there, DEEP) == [], right, dropped)
        there = self.damaged(lose)._replace(dropped={10: 3})
        self.assertNotEqual(judge.lossy([thread(self.STEPS, in_flight=False)], there, DEEP), [])

    def test_a_trace_that_ends_early_holds_nothing_else(self):
        early, group = trace(40), expected.ranges("plain", DEEP + 1, 0, payload=expected.NO_PAYLOAD)
        self.assertEqual(judge.part([thread(self.STEPS, False)], early, DEEP), [])
        early.threads[10, 11][group][1] = 7
        self.assertNotEqual(judge.part([thread(self.STEPS, False)], early, DEEP), [])


SEGMENT, SEGMENT_HEAD, SLOT = 64 << 10, 64, 16  # as in libprof/src/record/layout.h
MOST_SEGMENTS_AT = 1184


def spoil(path):
    """Takes a record in the middle of a segment away, as a recorder would that loses one. False where there is none."""
    with open(path, "rb+") as file:
        data = mmap.mmap(file.fileno(), 0)
    most = struct.unpack_from("I", data, MOST_SEGMENTS_AT)[0]
    begin = len(data) - most * SEGMENT
    assert begin % SEGMENT == 0 and begin > 16 << 20, f"{path} is laid out in another way"
    for start in range(begin, len(data), SEGMENT):
        used = [at for at in range(start + SEGMENT_HEAD, start + SEGMENT, SLOT) if struct.unpack_from("Q", data, at)[0] != 0]
        if len(used) > 20:
            struct.pack_into("Q", data, used[len(used) // 2], 0)
            return True
        if not used:
            return False
    return False


class Spoiled(trial.Trial):
    def recover(self):
        folder = self.recording / "shm"
        self.spoiled = any([spoil(path) for path in (folder if folder.exists() else self.recording).glob("*.lcr")])
        super().recover()


@unittest.skipUnless(len(sys.argv) > 1 and os.path.isdir(sys.argv[1]), "needs the folder of the programs")
class PlantedFaults(unittest.TestCase):
    def outcome(self, make, kind):
        plan = trial.Plan(1, 0, [next(one for one in trial.KINDS if one.name == kind)])
        # So little that all of it is in the segments yet.
        plan.target, plan.moment, plan.steps, plan.asks_early, plan.kills_recovery = "tree", "running", 3000, False, None
        attempt = make(kills.setting_of(Options(BIN), False), plan)
        try:
            return attempt.run(), attempt
        finally:
            attempt.close()

    def test_a_record_that_is_lost_is_found(self):
        processes.adopt_orphans()
        for kind in ("threads", "ring"):
            with self.subTest(kind):
                outcome, attempt = self.outcome(Spoiled, kind)
                self.assertTrue(attempt.spoiled)
                self.assertNotEqual(outcome.problems, [])
                self.assertEqual(self.outcome(trial.Trial, kind)[0].problems, [])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        BIN = sys.argv.pop(1)
    unittest.main()
