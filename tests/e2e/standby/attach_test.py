# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""`lacuna attach` on processes of each kind: attach_test.py LACUNA PROGRAM"""

import os
import subprocess
import sys
import unittest

from jobs import JobTest, main

LACUNA, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])


class Attach(JobTest):
    lacuna = LACUNA

    def refused(self, pid):
        done = self.call("attach", pid)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("Remedy: ", done.stderr)
        return done.stderr

    def test_a_process_on_standby_is_recorded_alone(self):
        for rank in range(2):
            self.on_standby(PROGRAM, "step", "6000", "5", rank=rank, world=2)
        self.wait_for_ranks(2)
        done = self.call("attach", self.process_of(1), "--steps", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([os.path.basename(file) for file in done.stdout.split()], ["capture-1.rank1.lcn"])

    def test_a_process_that_is_not_there_is_an_error(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assertIn(f"there is no process {gone.pid}", self.refused(gone.pid))

    def test_a_process_that_is_recorded_already_is_left_to_its_recording(self):
        self.start([LACUNA, "run", "-q", "-o", "out.lcn", "--", PROGRAM, "step", "6000", "5"])
        folder = os.path.join(self.folder, "out.lcn.recording")
        self.wait_for(lambda: os.path.exists(os.path.join(folder, "checkpoint")), "the recording")
        pid = int(subprocess.run(["pgrep", "-P", str(self.running[0].pid)], capture_output=True, text=True).stdout)
        self.assertRegex(self.refused(pid), rf"is recorded already, into .*/out\.lcn\. Remedy: .*lacuna trigger {pid} --dump")

    def test_a_program_that_is_no_python_is_shown_how_to_start(self):
        sleeping = self.start(["sleep", "60"])
        self.wait_for(lambda: os.readlink(f"/proc/{sleeping.pid}/exe").endswith(("sleep", "coreutils")), "the program")
        error = self.refused(sleeping.pid)
        self.assertIn("is no Python program", error)
        self.assertIn("lacuna run --standby job -- sleep 60", error)

    def test_a_python_is_named_with_its_version(self):
        script = "import time; print('up', flush=True); time.sleep(60)"
        python = self.start([os.path.realpath(sys.executable), "-c", script])
        self.assertEqual(python.stdout.readline(), "up\n")
        error = self.refused(python.pid)
        self.assertIn("runs Python {}.{} and was not started on standby".format(*sys.version_info[:2]), error)
        self.assertIn(f" -c '{script.split(chr(39))[0]}", error)

    def test_a_process_whose_keeper_was_killed_has_to_be_started_again(self):
        keeper = self.on_standby(PROGRAM, "step", "6000", "5")
        self.wait_for_ranks(1)
        pid = self.process_of(0)
        keeper.kill()
        keeper.wait()
        try:
            done = self.call("attach", pid)
            self.assertEqual(done.returncode, 1)
            self.assertIn("runs any more", done.stderr)
        finally:
            os.kill(pid, 15)

    @unittest.skipIf(os.geteuid() != 0, "only root can start a process of another user")
    def test_another_users_process_is_refused(self):
        mine = self.start(["sleep", "60"])
        done = subprocess.run(
            ["setpriv", "--reuid", "65534", "--clear-groups", LACUNA, "attach", str(mine.pid)], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"process {mine.pid} belongs to user root", done.stderr)

    def test_switching_a_process_on_standby_shows_the_right_command(self):
        self.on_standby(PROGRAM, "step", "6000", "5")
        self.wait_for_ranks(1)
        done = self.call("trigger", self.process_of(0), "--start")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"is on standby. Remedy: have some of its steps recorded: lacuna trigger --job {self.job}", done.stderr)


if __name__ == "__main__":
    main()
