# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A Python program records a stretch of itself: profile_test.py LACUNA"""

import os
import signal
import subprocess
import sys
import time
import unittest

from built import InFolder

BLOCK = """
import time, lacuna
with lacuna.range("before"):
    pass
with lacuna.profile("run.lcn") as recording:
    for i in range(5):
        with lacuna.range("batch"):
            time.sleep(0.002)
        lacuna.step()
with lacuna.range("after"):
    pass
print(len(recording.trace.report()["steps"]))
"""

TWICE = """
import os, time, lacuna
variables = dict(os.environ)
for number in (1, 2):
    with lacuna.profile(f"part-{number}.lcn"):
        with lacuna.range(f"part {number}"):
            pass
        lacuna.stop()
        with lacuna.range("unseen"):
            pass
    assert os.environ == variables
"""

CHILDREN = """
import multiprocessing, os, lacuna

def work(name):
    with lacuna.range(name):
        pass

if __name__ == "__main__":
    with lacuna.profile("run.lcn"):
        for method in ("fork", "spawn"):
            child = multiprocessing.get_context(method).Process(target=work, args=(method,))
            child.start()
            child.join()
        if os.fork() == 0:
            raise SystemExit  # leaves the block
        os.wait()
        work("parent")
"""

FAILS = """
import lacuna
with lacuna.profile("run.lcn"):
    try:
        with lacuna.profile("other.lcn"):
            pass
    except lacuna.Error as error:
        print(error)
try:
    lacuna.profile("run.lcn").__enter__()
except lacuna.Error as error:
    print(error)
try:
    lacuna.profile("no such folder/run.lcn").__enter__()
except lacuna.Error as error:
    print(error)
with lacuna.profile("run.lcn", force=True):
    with lacuna.range("again"):
        pass
"""

HANGS = """
import time, lacuna
with lacuna.profile("run.lcn"):
    with lacuna.range("batch"):
        pass
    print("ready", flush=True)
    time.sleep(60)
"""


class Profile(InFolder):
    def test_a_block_is_recorded_with_its_steps(self):
        output, error = self.python(BLOCK)
        self.assertEqual((output, error), ("5\n", ""))
        self.assertEqual(self.ranges(), {"batch": 5})
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run.lcn"])

    def test_one_block_follows_another(self):
        self.python(TWICE)
        self.assertEqual(self.ranges("part-1.lcn"), {"part 1": 1})
        self.assertEqual(self.ranges("part-2.lcn"), {"part 2": 1})

    def test_processes_of_the_block_are_in_the_trace(self):
        script = self.folder / "children.py"
        script.write_text(CHILDREN)
        self.call([sys.executable, script])
        self.assertEqual(self.ranges(), {"fork": 1, "spawn": 1, "parent": 1})

    def test_errors_name_the_remedy(self):
        output, _ = self.python(FAILS)
        inner, exists, folder = output.splitlines()
        self.assertIn("records already", inner)
        self.assertIn("force=True", exists)
        self.assertIn("no such folder", folder)
        self.assertEqual(self.ranges(), {"again": 1})

    def test_under_lacuna_run_the_block_switches_that_recording(self):
        output, error = self.recorded(BLOCK.replace('print(len(recording.trace.report()["steps"]))', ""))
        self.assertEqual(error.count("lacuna.profile() switches that recording"), 1, error)
        self.assertEqual(self.ranges(), {"before": 1, "batch": 5})
        self.assertEqual(len(self.steps()), 5)

    def test_an_exception_in_the_block_leaves_a_trace(self):
        _, error = self.python(BLOCK.replace("lacuna.step()", "raise KeyError('batch')"), code=1)
        self.assertIn("KeyError: 'batch'", error)
        self.assertEqual(self.ranges(), {"batch": 1})

    def test_a_program_that_is_killed_leaves_a_trace(self):
        with subprocess.Popen([sys.executable, "-c", HANGS], cwd=self.folder, stdout=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.readline(), b"ready\n")
            program.send_signal(signal.SIGKILL)
        end = time.monotonic() + 30
        while (self.folder / "run.lcn.recording").exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.ranges(), {"batch": 1})

    def test_another_tool_that_listens_is_named(self):
        _, error = self.python(BLOCK, code=1, NVTX_INJECTION64_PATH=os.devnull)
        self.assertIn("NVTX_INJECTION64_PATH is already set", error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
