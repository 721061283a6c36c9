# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""docs/slurm.sbatch with stand-ins for srun and scontrol: slurm_test.py LACUNA"""

import os
import subprocess
import sys
import unittest

from built import LACUNA, ROOT, InFolder

SRUN = """#!/usr/bin/env python3
# Starts the tasks as srun does: each with its numbers, all at once. Ends with the first code that is not 0.
import os, subprocess, sys
command = sys.argv[1:]
while command[0].startswith("--"):
    command.pop(0)
tasks = [subprocess.Popen(command, env=dict(os.environ, SLURM_PROCID=str(task), SLURM_LOCALID=str(task % 2)))
         for task in range(int(os.environ["SLURM_NTASKS"]))]
sys.exit(next((code for code in [task.wait() for task in tasks] if code), 0))
"""

TRAIN = """
import os, sys, time, lacuna
lacuna.start()
for _ in range(6):
    with lacuna.range(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}, {os.environ['LOCAL_RANK']} here"):
        time.sleep(0.003)
    lacuna.step()
assert os.environ["MASTER_ADDR"] == "node7" and sys.argv[1:] == ["--epochs", "two words"]
sys.exit(5 if os.environ["RANK"] == os.environ.get("FAILING") else 0)
"""


class Slurm(InFolder):
    def setUp(self):
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        for name, text in {"srun": SRUN, "scontrol": "#!/bin/sh\nprintf 'node7\\nnode8\\n'\n"}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (programs / "lacuna").symlink_to(LACUNA)
        (programs / "python").symlink_to(sys.executable)
        (self.folder / "train.py").write_text(TRAIN)

    def submit(self, tasks, **variables):
        environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", SLURM_JOB_ID="42",
                           SLURM_JOB_NODELIST="node[7-8]", SLURM_NTASKS=str(tasks), **variables)
        return subprocess.run([ROOT / "docs/slurm.sbatch", "train.py", "--epochs", "two words"], cwd=self.folder,
                              env=environment, text=True, capture_output=True, check=False, timeout=120)

    def test_each_rank_has_a_trace_and_all_are_in_one(self):
        done = self.submit(3, LACUNA_RUN="--trace nvtx")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(path.name for path in (self.folder / "lacuna-42").iterdir())
        self.assertEqual(names, ["all-ranks.lcn", "rank-0.lcn", "rank-1.lcn", "rank-2.lcn"])
        for rank in range(3):
            self.assertEqual(self.ranges(f"lacuna-42/rank-{rank}.lcn"), {f"rank {rank} of 3, {rank % 2} here": 6})
        rows = self.trace("lacuna-42/all-ranks.lcn").sql("SELECT DISTINCT rank FROM process WHERE rank >= 0 ORDER BY 1")
        self.assertEqual([row["rank"] for row in rows], [0, 1, 2])
        self.assertEqual(len(self.steps("lacuna-42/all-ranks.lcn")), 6)
        self.assertIn("step", done.stdout)

    def test_one_task_needs_no_merging(self):
        done = self.submit(1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in (self.folder / "lacuna-42").iterdir()], ["rank-0.lcn"])

    def test_the_job_ends_as_its_tasks_did(self):
        done = self.submit(2, FAILING="1")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertTrue((self.folder / "lacuna-42/all-ranks.lcn").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
