# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A Python program marks its steps and switches its recording: control_test.py LACUNA"""

import unittest

from built import ROOT, InFolder

MARKS = """
import time, lacuna
lacuna.start()
for _ in range(12):
    time.sleep(0.002)
    lacuna.step()
time.sleep(0.05)
"""

PAUSES = """
import time, lacuna
print(lacuna.start())
for i in range(12):
    if i == 4:
        lacuna.stop()
    if i == 8:
        lacuna.start()
    with lacuna.range(f"batch {i}"):
        time.sleep(0.002)
    lacuna.step()
"""

SNAPS = """
import lacuna
with lacuna.range("before"):
    pass
seen = lacuna.snapshot("early.lcn")
print([row["name"] for row in seen.sql("SELECT name FROM range WHERE name IN ('before', 'after')")])
try:
    lacuna.snapshot("early.lcn")
except lacuna.Error as error:
    print(error)
lacuna.snapshot("early.lcn", force=True)
with lacuna.range("after"):
    pass
"""

FORKS = """
import os, time, lacuna
lacuna.start()
for _ in range(6):
    time.sleep(0.002)
    lacuna.step()
    if os.fork() == 0:
        time.sleep(0.001)
        lacuna.step()
        os._exit(0)
    os.wait()
"""


TRIAL = """
import torch, lacuna
optimizer = torch.optim.Optimizer()
for _ in range(8):
    optimizer.step()
    optimizer.step()
    lacuna.step()
"""


class Control(InFolder):
    def test_marks_are_the_steps(self):
        self.recorded(MARKS)
        steps = self.steps()
        self.assertEqual(len(steps), 12)
        rows = self.trace().sql("SELECT durNs FROM range WHERE domain = 'lacuna' AND category = 'step' ORDER BY startNs")
        self.assertEqual(len(rows), 12)
        self.assertTrue(all(2e6 <= row["durNs"] < 40e6 for row in rows), rows)

    def test_without_a_begin_the_first_mark_begins_the_first_step(self):
        self.recorded(MARKS.replace("lacuna.start()\n", ""))
        self.assertEqual(len(self.steps()), 11)

    def test_a_pause_has_neither_steps_nor_ranges(self):
        output, _ = self.recorded(PAUSES)
        self.assertEqual(output, "True\n")
        self.assertEqual(self.ranges(), {f"batch {i}": 1 for i in (0, 1, 2, 3, 8, 9, 10, 11)})
        self.assertEqual(len(self.steps()), 8)

    def test_recording_starts_where_the_program_wants_it(self):
        self.recorded(PAUSES.replace("print(lacuna.start())\n", ""), "--delay", "1h")
        self.assertEqual(self.ranges(), {f"batch {i}": 1 for i in (8, 9, 10, 11)})
        self.assertEqual(len(self.steps()), 4)

    def test_a_forked_child_has_steps_of_its_own(self):
        self.recorded(FORKS)
        rows = self.trace().sql("SELECT count(*) AS n FROM range WHERE domain = 'lacuna'")
        self.assertEqual(rows, [{"n": 6}])

    def test_a_snapshot_has_what_was_recorded_so_far(self):
        output, _ = self.recorded(SNAPS)
        names, refused = output.splitlines()
        self.assertEqual(names, "['before']")
        self.assertIn("early.lcn exists", refused)
        self.assertEqual(self.ranges("early.lcn"), {"before": 1})
        self.assertEqual(self.ranges(), {"before": 1, "after": 1})

    def test_a_snapshot_of_a_flight_recorder_has_what_the_ring_holds(self):
        self.recorded(SNAPS, "--ring", "1M")
        self.assertEqual(self.ranges("early.lcn"), {"before": 1})

    def test_a_trial_of_tune_times_the_same_steps(self):
        hooked = [ROOT / "collector/python", ROOT / "tests/collector/torch/fake", ROOT / "python"]
        self.python(TRIAL, PYTHONPATH=":".join(map(str, hooked)), LACUNA_STEP_TIMES=str(self.folder / "times"))
        lines = (self.folder / "times").read_text().splitlines()
        # Until the first mark each optimizer's step is one.
        self.assertEqual(sum(line.split()[1] == "step" for line in lines), 2 + 7, lines)

    def test_where_nobody_records_nothing_happens(self):
        output, error = self.python(PAUSES)
        self.assertEqual((output, error), ("False\n", ""))
        _, error = self.python("import lacuna; lacuna.snapshot('x.lcn')", code=1)
        self.assertIn("nobody records this program", error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
