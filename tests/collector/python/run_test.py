# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Where Python programs were, as `lacuna run --torch` records it: run_test.py LACUNA"""

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LACUNA = os.path.abspath(sys.argv[1])
SHARES = os.path.join(HERE, "shares.py")
# Shares of what is spent, by function. Another program on the machine may take some of it.
EXPECTED = {"busy": 0.2, "sleepy": 0.3, "locked": 0.5}
TOLERANCE = 0.1


def refuse_reading():
    """In a child: the kernel refuses process_vm_readv, as in some containers."""
    import ctypes
    import errno
    import struct

    def statement(code, jump_true, jump_false, value):
        return struct.pack("HBBI", code, jump_true, jump_false, value)

    number_of_call, process_vm_readv = 0, 310  # x86-64
    filters = (
        statement(0x20, 0, 0, number_of_call)  # load
        + statement(0x15, 0, 1, process_vm_readv)  # equal?
        + statement(0x06, 0, 0, 0x00050000 | errno.EPERM)  # an error
        + statement(0x06, 0, 0, 0x7FFF0000)  # allow
    )
    buffer = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("HxxxxxxQ", len(filters) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_filter, by_filter, program) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


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
        """The seconds of each innermost function of shares.py, by function and line."""
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
        states = {
            row["function"]: row["share"]
            for row in self.query(
                "select f.function, avg(s.state in (3, 4)) as share from python_sample s "
                "join stack_frame f on f.id = s.stack where f.file like '%shares.py' group by 1"
            )
        }
        self.assertLess(states["busy"], 0.1, "it ran, or waited for a core")
        for name in ("sleepy", "locked"):
            self.assertGreater(states[name], 0.9, f"{name} slept")
        modules = self.query("select distinct module from stack_frame where function = 'spend'")
        self.assertEqual(modules, [{"module": "shares"}])

    def test_workers_that_are_forked_are_seen(self):
        self.assertEqual(self.record("2", "fork").returncode, 0)
        first = self.query("select min(id) as id from process where commandLine like '%shares.py%'")[0]["id"]
        self.expect_shares(self.seconds(f"p.id <> {first}"), 2)

    def test_workers_that_are_spawned_are_seen(self):
        self.assertEqual(self.record("2", "spawn").returncode, 0)
        self.expect_shares(self.seconds("p.commandLine like '%spawn_main%'"), 2)

    def test_a_helper_is_sampled_less_often(self):
        self.assertEqual(self.record("3", "helper").returncode, 0)
        rows = self.query(
            "select p.id as process, count(*) as rows, sum(s.weightNs) / 1e9 as seconds from python_sample s "
            "join thread t on t.id = s.thread join process p on p.id = t.process "
            "join stack_frame f on f.id = s.stack where f.file like '%shares.py' group by 1 order by 1"
        )
        first, helper = rows
        self.assertLess(helper["rows"], 0.5 * first["rows"])
        self.assertGreater(helper["seconds"], 0.7 * 3)
        self.expect_shares(self.seconds(f"p.id = {first['process']}"), 3)

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

    @unittest.skipUnless(platform.machine() == "x86_64", "the filter is of x86-64")
    def test_where_the_kernel_refuses_it_a_note_and_doctor_name_the_reason(self):
        command = [word for word in self.command("1") if word != "-q"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder.name, preexec_fn=refuse_reading, check=False
        )
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("lines of Python programs are not recorded"), 1, done.stderr)
        self.assertEqual(self.query("select count(*) as rows from python_sample"), [{"rows": 0}])
        for refused, state in ((refuse_reading, "missing"), (None, "works")):
            words = [LACUNA, "doctor", "--json"]
            doctor = subprocess.run(words, capture_output=True, text=True, preexec_fn=refused, check=False)
            finding = next(one for one in json.loads(doctor.stdout) if one["id"] == "python_frames")
            self.assertEqual(finding["state"], state, finding)
            self.assertEqual(finding["remedy"] != "", refused is not None)

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
        # A look may find their caller between two calls.
        self.assertEqual({function for function, _ in spent} - {"spend"}, set(EXPECTED))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
