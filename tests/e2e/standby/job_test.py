# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs on standby and `lacuna trigger --job`, with programs that mark their steps by NVTX: job_test.py LACUNA PROGRAM"""

import json
import os
import signal
import sys

from jobs import JobTest, main

LACUNA, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
# Steps of 5 ms, with ten ranges "work N" in step N.
STEPS = (PROGRAM, "step", "6000", "5")


class Job(JobTest):
    lacuna = LACUNA

    def ranks(self, count=2):
        started = [self.on_standby(*STEPS, rank=rank, world=count) for rank in range(count)]
        self.wait_for_ranks(count)
        return started

    def has_ranges(self, trace):
        """False also of a recording that has hardly begun, and cannot be read yet."""
        done = self.call("query", trace, "SELECT count(*) AS n FROM range", "--json")
        return done.returncode == 0 and json.loads(done.stdout)[0]["n"] > 0

    def steps_in(self, trace):
        """The numbers of the steps whose ten ranges are all in the trace."""
        names = [row["name"] for row in self.rows(trace, "SELECT name FROM range WHERE name LIKE 'work %'")]
        self.assertEqual({names.count(name) for name in names}, {10})
        return sorted({int(name.split()[1]) for name in names})

    def test_all_ranks_record_the_same_steps(self):
        self.ranks()
        files = self.recorded("--steps", 5)
        self.assertEqual([os.path.basename(file) for file in files], ["capture-1.rank0.lcn", "capture-1.rank1.lcn"])
        first, second = (self.steps_in(file) for file in files)
        self.assertEqual(first, list(range(first[0], first[0] + 5)))
        self.assertEqual(second, first)

    def test_a_rank_is_named_in_its_trace(self):
        self.ranks()
        for rank, file in enumerate(self.recorded("--steps", 1)):
            self.assertEqual([row["rank"] for row in self.rows(file, "SELECT rank FROM process")], [rank])

    def test_the_first_step_can_be_chosen(self):
        self.ranks(1)
        self.assertEqual(self.steps_in(self.recorded("--step", 500, "--steps", 3)[0]), [500, 501, 502])

    def test_each_trigger_makes_files_of_its_own(self):
        programs = self.ranks()
        before = self.recorded("--steps", 2)
        after = self.recorded("--steps", 2)
        self.assertEqual([os.path.basename(file) for file in after], ["capture-2.rank0.lcn", "capture-2.rank1.lcn"])
        self.assertGreater(self.steps_in(after[0])[0], self.steps_in(before[0])[-1])
        for program in programs:
            program.send_signal(signal.SIGTERM)
            _, error = program.communicate()
            self.assertIn("2 files of steps recorded", error)
        self.check_gone()

    def test_without_a_trigger_nothing_is_written(self):
        program = self.on_standby(PROGRAM, "step", "100", "5")
        self.wait_for_ranks(1)
        self.assertEqual(program.wait(), 0)
        self.assertIn("nothing was recorded", program.stderr.read())
        self.assertEqual(os.listdir(self.job), ["request"])
        self.check_gone()

    def test_the_exit_code_is_the_programs(self):
        program = self.on_standby("sh", "-c", "exit 7")
        self.assertEqual(program.wait(), 7)

    def test_one_keeper_serves_several_ranks(self):
        ranks = " & ".join(f"RANK={rank} WORLD_SIZE=2 {' '.join(STEPS)}" for rank in range(2))
        self.on_standby("sh", "-c", f"{ranks} & wait")
        self.wait_for_ranks(2)
        files = self.recorded("--steps", 2)
        for rank in range(2):  # the shell does not end them with itself
            os.kill(self.process_of(rank), signal.SIGTERM)
        self.assertEqual(self.steps_in(files[0]), self.steps_in(files[1]))

    def test_a_step_of_another_name_counts(self):
        self.on_standby(PROGRAM, "epoch", "6000", "5", options=("--step-range", "epoch"))
        self.wait_for_ranks(1)
        self.assertEqual(len(self.steps_in(self.recorded("--steps", 2)[0])), 2)

    # --- what cannot be

    def refused(self, *words):
        done = self.trigger(*words)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_a_folder_without_a_job_is_an_error(self):
        self.assertIn("there is no job in", self.refused())

    def test_a_job_without_steps_is_an_error(self):
        self.on_standby("sleep", "60")
        self.wait_for(lambda: os.path.exists(os.path.join(self.job, "request")), "the job's folder")
        self.assertIn("has ended a step yet", self.refused())

    def test_a_step_that_has_passed_is_an_error(self):
        self.ranks(1)
        self.assertRegex(self.refused("--step", 0), r"step 0 has passed: rank 0 \(process \d+ on .*\) is at step \d+")
        self.recorded("--steps", 1)  # and the job goes on

    def test_a_missing_rank_is_an_error(self):
        self.on_standby(*STEPS, rank=1, world=3)
        self.wait_for_ranks(1)
        self.assertIn("ranks 0 and 2 of 3 are not on standby", self.refused())

    def test_two_processes_of_one_rank_are_an_error(self):
        self.on_standby(*STEPS)
        self.on_standby(*STEPS)
        self.wait_for_ranks(2)
        self.assertIn("both count as rank 0", self.refused())

    def test_ranks_of_two_jobs_are_an_error(self):
        self.on_standby(*STEPS, rank=0, world=2)
        self.on_standby(*STEPS, rank=1, world=4)
        self.wait_for_ranks(2)
        self.assertIn("belongs to a job of 2", self.refused())

    def test_a_rank_that_dies_ends_the_others_recording(self):
        self.ranks()
        trigger = self.start([LACUNA, "trigger", "--job", self.job, "--steps", "5000"])
        files = [os.path.join(self.job, f"capture-1.rank{rank}.lcn") for rank in range(2)]
        self.wait_for(lambda: all(self.has_ranges(file) for file in files), "both recordings")
        os.kill(self.process_of(1), signal.SIGKILL)
        _, error = trigger.communicate()
        self.assertEqual(trigger.returncode, 1, error)
        self.assertRegex(error, r"rank 1 \(process \d+ on .*\): process \d+ on .* ended at step \d+\. The other ranks were stopped")
        for file in files:
            self.assertIn(os.path.basename(file), error)
            self.assertTrue(self.has_ranges(file), file)

    def test_an_interrupted_trigger_leaves_the_job_on_standby(self):
        self.ranks(1)
        trigger = self.start([LACUNA, "trigger", "--job", self.job, "--step", "1000000"])
        self.wait_for(lambda: any(name.endswith(".recording") for name in os.listdir(self.job)), "the armed rank")
        trigger.send_signal(signal.SIGINT)
        _, error = trigger.communicate()
        self.assertEqual(trigger.returncode, 1)
        self.assertIn("interrupted. Nothing was recorded", error)
        self.recorded("--steps", 1)

    def test_two_triggers_at_once_are_an_error(self):
        self.ranks(1)
        self.start([LACUNA, "trigger", "--job", self.job, "--step", "1000000"])
        self.wait_for(lambda: os.path.exists(os.path.join(self.job, "trigger.lock")), "the first trigger")
        self.assertIn("another lacuna trigger is at work", self.refused())

    def test_contradictory_words_are_wrong_usage(self):
        for words in (
            ("trigger", "--job", self.job, "12", "--steps", "2"),
            ("trigger", "12"),
            ("trigger", "--stop"),
            ("trigger", "12", "--stop", "--steps", "2"),
            ("trigger", "--job", self.job, "--steps", "0"),
            ("run", "--standby", self.job, "-o", "x.lcn", "--", "true"),
            ("run", "--standby", self.job, "--ring", "16M", "--", "true"),
        ):
            self.assertEqual(self.call(*words).returncode, 2, words)


if __name__ == "__main__":
    main()
