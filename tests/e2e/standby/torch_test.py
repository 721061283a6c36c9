# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program on standby: torch_test.py LACUNA. Ends with 77 where this Python has no PyTorch."""

import importlib.util
import os
import signal
import sys

from jobs import JobTest, main

LACUNA = os.path.abspath(sys.argv[1])
TRAINING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_program.py")


class Torch(JobTest):
    lacuna = LACUNA

    def counts(self, trace, name):
        return self.rows(trace, f"SELECT count(*) AS n FROM range WHERE name = '{name}'")[0]["n"]

    def files_of(self, rank):
        return sum(name.endswith(f".rank{rank}.lcn") for name in os.listdir(self.job))

    def test_each_trigger_records_complete_steps_and_leaves_nothing_behind(self):
        programs = [self.on_standby(sys.executable, TRAINING, rank=rank, world=2) for rank in range(2)]
        self.wait_for_ranks(2)
        ends, operators, captures = [0, 0], set(), []
        for _ in range(2):
            traces = self.recorded("--steps", 4)
            # A capture whose first step has passed when the last rank hears of it leaves its number to nobody.
            captures.append(int(os.path.basename(traces[0]).removeprefix("capture-").split(".")[0]))
            for rank, trace in enumerate(traces):
                self.assertEqual(os.path.basename(trace), f"capture-{captures[-1]}.rank{rank}.lcn")
                steps = self.rows(trace, "SELECT payload FROM range WHERE name = 'step' ORDER BY startNs")
                first = steps[0]["payload"]
                self.assertEqual([row["payload"] for row in steps], list(range(first, first + 4)))
                self.assertGreaterEqual(first, ends[rank])
                ends[rank] = first + 4
                for phase in ("forward", "backward", "optimizer"):
                    self.assertEqual(self.counts(trace, phase), 4, phase)
                self.assertIn(self.counts(trace, "load"), (4, 5), "an epoch that ends among the steps asks once more")
                self.assertEqual(self.counts(trace, "Sequential.0"), 4)
                operators.add(self.counts(trace, "aten::mse_loss"))
                report = self.call("report", trace)
                self.assertEqual(report.returncode, 0, report.stderr)
        self.assertLess(*captures)
        self.assertEqual(len(operators), 1, "each is observed as often in the second recording as in the first")
        self.assertNotIn(0, operators)
        for program in programs:
            os.kill(self.process_of(programs.index(program)), signal.SIGTERM)
            printed, error = program.communicate()
            self.assertEqual((program.returncode, printed), (0, "as before\n"), error)
            self.assertEqual(error, f"lacuna: {self.files_of(programs.index(program))} files of steps recorded in {self.job}\n")
        self.check_gone()


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no PyTorch")
        sys.exit(77)
    main()
