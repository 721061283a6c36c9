# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun with two ranks of gloo: torchrun_test.py LACUNA"""

import importlib.util
import sys
import unittest

from built import LACUNA, SKIPPED, InFolder

TRAIN = """
import lacuna, torch
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(8):
    net(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    lacuna.step()
dist.destroy_process_group()
"""


class Torchrun(InFolder):
    def setUp(self):
        super().setUp()
        (self.folder / "train.py").write_text(TRAIN)
        self.launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]

    def test_each_rank_has_a_trace_of_its_name(self):
        self.call([*self.launch, "--no-python", LACUNA, "run", "-q", "-o", "rank-{rank}.lcn", "--", sys.executable, "train.py"])
        for rank in (0, 1):
            self.assertEqual(len(self.steps(f"rank-{rank}.lcn")), 8)
        self.call([LACUNA, "merge", "rank-0.lcn", "rank-1.lcn", "-o", "all.lcn"])
        self.check_both_ranks("all.lcn")

    def test_one_recording_has_both_ranks(self):
        self.call([LACUNA, "run", "-q", "-o", "all.lcn", "--", *self.launch, "train.py"])
        self.check_both_ranks("all.lcn")

    def check_both_ranks(self, name):
        rows = self.trace(name).sql("""
            SELECT p.rank, count(*) AS steps FROM range r JOIN thread t ON t.id = r.thread JOIN process p ON p.id = t.process
            WHERE r.domain = 'lacuna' AND r.category = 'step' GROUP BY 1 ORDER BY 1""")
        self.assertEqual([(row["rank"], row["steps"]) for row in rows], [(0, 8), (1, 8)])


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: torch is not installed. Remedy: scripts/setup --python")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
