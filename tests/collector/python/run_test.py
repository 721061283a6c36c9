# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Where Python programs were, as `lacuna run --torch` records it: run_test.py LACUNA"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LACUNA = os.path.abspath(sys.argv[1])
SHARES = os.path.join(HERE, "shares.py")
# Of what is spent, by function. Another program on the machine may take some of it.
EXPECTED = {"busy": 0.2, "sleepy": 0.3, "locked": 0.5}
TOLERANCE = 0.1


def line_of(comment):
    with open(SHARES, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if comment in line)


class PythonSamples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.trace = os.path.join(self.folder.name, "out.lcn")

    def tearDown(self):
        self.folder.cleanup()

    def command(self, *words, options=()):
        program = [sys.executable, SHARES, *words]
        return [LACUNA, "run", "-q", "--no-report", "-o", self.trace, "--torch", *options, "--", *program]

    def record(self, *words, options=()):
        return subprocess.run(
            self.command(*words, options=options), capture_output=True, text=True, cwd=self.folder.name, check=False
        )

    def query(self, sql, trace=None):
        words = [LACUNA, "query", "--json", trace or self.trace, sql]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def seconds(self, where="1", trace=None):
        """Of each function that was innermost in shares.py, and its lines."""
        rows = self.query(
            "select f.function, f.line, sum(s.weightNs) / 1e9 as seconds from python_sample s "
            "join stack_frame f on f.id = s.stack join thread t on t.id = s.thread join process p on p.id = t.process "
            f"where f.file like '%shares.py' and {where} group by 1, 2",
            trace,
        )
        return {(row["function"], row["line"]): row["seconds"] for row in rows}

    def expect_shares(self, seconds, total):
        functions = {name: sum(s for (f, _), s in seconds.items() if f == name) for name in EXPECTED}
        spent = sum(functions.values())
        self.assertGreater(spent, 0.7 * total)
        self.assertLess(spent, 1.2 * total)
        for name, share in EXPECTED.items():
            self.assertAlmostEqual(functions[name] / spent, share, delta=TOLERANCE, msg=name)
        for name, comment in (("sleepy", "# a sleepy line"), ("locked", "# a locked line")):
            self.assertGreater(seconds.get((name, line_of(comment)), 0), 0.9 * functions[name])

    def test_time_in_three_functions_has_their_lines(self):
        done = self.record("3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.expect_shares(self.seconds(), 3)
        callers = self.query(
            "select distinct c.function from python_sample s join stack_frame f on f.id = s.stack "
            "join stack_frame c on c.id = f.parent where f.function = 'sleepy'"
        )
        self.assertEqual(callers, [{"function": "spend"}])
        modules = self.query("select distinct module from stack_frame where function = 'spend'")
        self.assertEqual(modules, [{"module": "shares"}])

    def test_workers_that_are_forked_are_seen(self):
        self.assertEqual(self.record("2", "fork").returncode, 0)
        first = self.query("select min(id) as id from process where commandLine like '%shares.py%'")[0]["id"]
        self.expect_shares(self.seconds(f"p.id <> {first}"), 2)

    def test_workers_that_are_spawned_are_seen(self):
        self.assertEqual(self.record("2", "spawn").returncode, 0)
        self.expect_shares(self.seconds("p.commandLine like '%spawn_main%'"), 2)

    def test_a_program_that_is_killed_keeps_its_samples(self):
        self.assertEqual(self.record("2", "die").returncode, -signal.SIGKILL)
        self.expect_shares(self.seconds(), 2)

    def test_a_thread_that_stays_where_it_is_has_few_rows(self):
        self.record("3", "beside")
        rows = self.query(
            "select count(*) as rows, sum(s.weightNs) / 1e9 as seconds from python_sample s join thread t on "
            "t.id = s.thread join process p on p.id = t.process where t.osTid <> p.osPid"
        )[0]
        self.assertGreater(rows["seconds"], 2)
        self.assertLess(rows["rows"], 20)

    def test_a_rate_of_none_records_none(self):
        done = self.record("0.3", options=("--python-hz", "0"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.query("select count(*) as rows from python_sample"), [{"rows": 0}])

    def test_a_higher_rate_gives_more_samples(self):
        self.record("1", options=("--python-hz", "20"))
        few = self.query("select count(*) as rows from python_sample")[0]["rows"]
        self.assertGreater(few, 5)
        self.assertLess(few, 40)

    def test_rates_that_make_no_sense_are_refused(self):
        for rate in ("-1", "5000", "nan"):
            done = self.record("0.1", options=("--python-hz", rate))
            self.assertEqual(done.returncode, 2, rate)
            self.assertIn("--python-hz", done.stderr)

    def test_a_killed_supervisor_keeps_what_it_had_seen(self):
        supervisor = subprocess.Popen(self.command("6"), cwd=self.folder.name, stderr=subprocess.DEVNULL)
        time.sleep(5)
        supervisor.kill()
        supervisor.wait()
        time.sleep(2)
        recovered = os.path.join(self.folder.name, "recovered.lcn")
        done = subprocess.run(
            [LACUNA, "recover", self.trace + ".recording", "-o", recovered], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        spent = self.seconds(trace=recovered)
        self.assertGreater(sum(spent.values()), 1.5)
        self.assertEqual({function for function, _ in spent}, set(EXPECTED))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
