# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""`lacuna tune` on programs that use a stand-in for PyTorch: tune_test.py LACUNA CORE"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LACUNA, CORE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

# Time is slept, so that a busy machine changes little. Workers help, a fused optimizer hurts, amp changes the loss.
PROGRAM = """
import sys, time
import torch
from torch.utils.data import DataLoader
BATCHES = 200
class Slow:
    def __getitem__(self, i):
        time.sleep(0.06)
        return i
class Net(torch.nn.Module):
    def __init__(self): self.weight = torch.Tensor(requires_grad=True)
    def forward(self, x):
        with torch.operator("aten::linear", sequence=torch._sequence): time.sleep(0.002)
        return torch.Tensor(7.0 if torch._reduced else 1.0)
class Adam(torch.optim.Adam):
    def update(self): time.sleep(0.12 if self.form == "fused" else 0)
def main():
    net = Net()
    optimizer = Adam([net.weight])
    for batch in DataLoader(Slow(), batches=BATCHES):
        net(batch).neg().backward()
        optimizer.step()
main()
"""


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(os.path.join(self.folder.name, "tmp"))
        self.environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "fake"), FAKE_TORCH_CORE=CORE,
                                TMPDIR=os.path.join(self.folder.name, "tmp"))
        self.write(PROGRAM)

    def write(self, program):
        with open(os.path.join(self.folder.name, "train.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(program))

    def command(self, *options):
        return [LACUNA, "tune", *options, "--", sys.executable, "train.py"]

    def tune(self, *options, code=0):
        done = subprocess.run(self.command(*options), env=self.environment, cwd=self.folder.name, capture_output=True, text=True,
                              timeout=400)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(os.listdir(os.path.join(self.folder.name, "tmp")), [], "nothing is left behind")
        return done

    def test_keeps_what_helps_and_rejects_what_hurts(self):
        done = self.tune("--steps", "10", "--knobs", "loader.workers,optimizer.fused,amp,channels_last", "-o", "out.json", "-o", "out.html", "--calibration", "machine.json")
        with open(os.path.join(self.folder.name, "out.json"), encoding="utf-8") as file:
            found = json.load(file)
        verdicts = {row["setting"]: row["verdict"] for row in found["tries"]}
        self.assertEqual(verdicts["optimizer.fused=on"], "slower")
        self.assertEqual(verdicts["amp=on"], "changes the loss")
        self.assertEqual(verdicts["channels_last=on"], "not applied")
        self.assertTrue(found["kept"] and all(setting.startswith("loader.workers=") for setting in found["kept"]), found)
        self.assertGreater(found["gain"]["low"], 0)
        self.assertLess(found["end_ns_per_step"], found["begin_ns_per_step"])
        self.assertEqual((found["schema"], found["ending"]), ("lacuna.tune/1", "nothing left"))
        self.expect_learned(done, found)
        place = f"train.py:{1 + PROGRAM.split(chr(10)).index('    for batch in DataLoader(Slow(), batches=BATCHES):')}"
        self.assertRegex(found["script"][0], re.escape(place) + r": DataLoader\(…, num_workers=\d+\)")
        self.assertIn(found["script"][0], done.stdout)
        self.assertRegex(done.stderr, r"lacuna: \[\d+:\d\d left\] trying loader\.workers=\d+: predicted to take \d")
        with open(os.path.join(self.folder.name, "out.html"), encoding="utf-8") as file:
            self.assertIn("loader.workers", file.read())

    def expect_learned(self, done, found):
        """The outcomes of what was predicted and judged by its time, and of nothing else."""
        with open(os.path.join(self.folder.name, "machine.json"), encoding="utf-8") as file:
            outcomes = json.load(file)["outcomes"]
        judged = [row for row in found["tries"] if row["predicted"] and row["verdict"] in ("kept", "slower", "no gain beyond the noise")]
        self.assertTrue(judged)
        self.assertEqual([outcome["knob"] for outcome in outcomes], [row["setting"].split("=")[0] for row in judged])
        for outcome, row in zip(outcomes, judged):
            self.assertAlmostEqual(outcome["measured"], row["measured"]["share"], places=3)
        self.assertIn(f"added {len(outcomes)} outcome", done.stderr)

    def test_a_broken_calibration_is_an_error_before_anything_runs(self):
        with open(os.path.join(self.folder.name, "machine.json"), "w", encoding="utf-8") as file:
            file.write("a letter")
        done = self.tune("--calibration", "machine.json", code=1)
        self.assertIn("machine.json: is no JSON", done.stderr)
        self.assertNotIn("recording", done.stderr)
        with open(os.path.join(self.folder.name, "machine.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "a letter")

    def test_an_interrupt_ends_the_program_and_prints_what_is_known(self):
        running = subprocess.Popen(self.command("--steps", "10", "--knobs", "loader.workers"), env=self.environment, cwd=self.folder.name,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:
            if "pair 1" in line:
                break
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130)
        self.assertIn("It was interrupted.", out)
        left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
        self.assertNotIn(self.folder.name, left)

    def test_fewer_steps_are_measured_of_a_short_program(self):
        self.write(PROGRAM.replace("BATCHES = 200", "BATCHES = 25"))
        done = self.tune("--knobs", "matmul")
        self.assertIn("the program makes 25 steps, so 16 are measured", done.stderr)

    def test_errors_name_what_is_wrong(self):
        for program, options, words in (
            (PROGRAM.replace("BATCHES = 200", "BATCHES = 12"), (), "the program ended after 12 steps, and 18 are needed"),
            (PROGRAM.replace("BATCHES = 200", "BATCHES = 25"), ("--steps", "20"), "Give it fewer --steps"),
            ("print('nothing')", (), "no step was seen"),
            ("import torch\nraise SystemExit('no data')", (), "ended with code 1 after 0 steps: no data"),
        ):
            self.write(program)
            self.assertIn(words, self.tune(*options, code=1).stderr)

    def test_wrong_usage_is_an_error_before_anything_runs(self):
        for options, words in ((("--knobs", "loader.worker"), "did you mean 'loader.workers'?"), (("--knobs", "batch"), "changes what the model learns"),
                               (("--budget", "soon"), "is not a duration"), (("--steps", "3"), "from 10 to"), (("-o", "train.py"), "train.py")):
            self.assertIn(words, self.tune(*options, code=2).stderr)
        done = subprocess.run([LACUNA, "tune", "--", "no-such-program"], env=self.environment, cwd=self.folder.name, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no-such-program", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
