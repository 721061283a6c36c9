# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Uses the Python package as it is installed beside this interpreter: the command, the module, and a recording."""

import ctypes
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import lacuna

# A report names the function of this loop only where the libraries of the package are found.
PROGRAM = """
import sys, time

def prepare():
    time.sleep(0.02)

def main():
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        prepare()
        sum(range(200_000))
    print("trained")

main()
sys.exit(7)
"""

NAMED = """
import threading, lacuna

@lacuna.range("inner")
def half(n):
    return 1 if n == 0 else 1 + half(n - 1)

with lacuna.range("outer"):
    print(half(2))
for _ in (1, 2):
    try:
        with lacuna.range("outer"):
            raise ValueError
    except ValueError:
        pass
def work():
    with lacuna.range("worker"):
        pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")] + [
    ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))), ("private_data", ctypes.c_void_p)]


class ArrowArrayStream(ctypes.Structure):
    pass


ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


def batches(rows):
    """Reads Arrow's stream as a library does that knows its C interface. A batch is valid until the next one."""
    capsule = rows.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    stream = ArrowArrayStream.from_address(pointer(capsule, b"arrow_array_stream"))
    while True:
        batch = ArrowArray()
        assert stream.get_next(ctypes.byref(stream), ctypes.byref(batch)) == 0
        if not batch.release:
            return
        yield batch
        batch.release(ctypes.byref(batch))


def integers_of_first_column(rows):
    values = []
    for batch in batches(rows):
        column = batch.children[0].contents
        values += (ctypes.c_int64 * column.length).from_address(column.buffers[1])
    return values


def command(*words, **how):
    return subprocess.run([lacuna.program(), *map(str, words)], capture_output=True, text=True, check=False, **how)


class Installed(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def made_up(self):
        trace = self.folder / "made-up.lcn"
        self.assertEqual(command("generate", "-o", trace, "--steps", "20").returncode, 0)
        return trace

    def test_the_command_lies_beside_this_python(self):
        self.assertEqual(lacuna.program().parent, pathlib.Path(sys.executable).parent)
        self.assertEqual(command("--version").stdout.split()[-1], lacuna.__version__)

    def test_the_module_runs_as_the_command(self):
        done = subprocess.run([sys.executable, "-m", "lacuna", "report", "no such file"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such file", done.stderr)

    def test_a_python_program_is_recorded_with_its_lines_and_its_exit_code(self):
        script = self.folder / "train.py"
        script.write_text(PROGRAM)
        trace = self.folder / "train.lcn"
        done = command("run", "--torch", "--no-report", "-o", trace, "--", sys.executable, script)
        self.assertEqual((done.returncode, done.stdout.strip()), (7, "trained"), done.stderr)
        samples = lacuna.open(trace).sql("SELECT f.function, f.line, count(*) AS samples FROM python_sample s "
                                         "JOIN stack_frame f ON f.id = s.stack GROUP BY 1, 2")
        self.assertGreater(sum(row["samples"] for row in samples if row["function"] in ("prepare", "main")), 20, samples)
        self.assertFalse((self.folder / "train.lcn.recording").exists())

    def test_a_program_names_stretches_of_its_time(self):
        script = self.folder / "named.py"
        script.write_text(NAMED)
        alone = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
        self.assertEqual((alone.returncode, alone.stdout), (0, "3\n"), alone.stderr)
        trace = self.folder / "named.lcn"
        done = command("run", "--no-report", "-o", trace, "--", sys.executable, script)
        self.assertEqual((done.returncode, done.stdout), (0, "3\n"), done.stderr)
        rows = lacuna.open(trace).sql("SELECT name, depth, count(*) AS n FROM range WHERE name IN ('outer', 'inner', 'worker') "
                                      "GROUP BY 1, 2 ORDER BY 1, 2")
        found = [(row["name"], row["depth"], row["n"]) for row in rows]
        self.assertEqual(found, [("inner", 1, 1), ("inner", 2, 1), ("inner", 3, 1), ("outer", 0, 3), ("worker", 0, 1)])

    def test_a_program_records_itself(self):
        with lacuna.profile(self.folder / "own.lcn") as recording:
            with lacuna.range("own"):
                lacuna.step()
        rows = recording.trace.sql("SELECT name FROM range WHERE domain = 'lacuna.rt'")
        self.assertEqual([row["name"] for row in rows], ["own"])
        self.assertEqual(len(recording.trace.report()["steps"]), 1)

    def test_a_trace_answers_with_its_report_rows_and_predictions(self):
        trace = lacuna.open(self.made_up())
        self.assertEqual(len(trace.report()["steps"]), 20)
        self.assertEqual(len(trace.report(steps=(5, 10))["steps"]), 5)
        self.assertEqual(trace.findings, trace.report()["findings"])
        (row,) = trace.sql("SELECT count(*) AS n FROM kernel")
        self.assertGreater(row["n"], 0)
        self.assertIsInstance(trace.whatif("host*0.5"), dict)
        self.assertIn("<html", trace.html())
        self.assertIn("<iframe", trace._repr_html_())

    def test_rows_are_arrow_without_another_package(self):
        trace = lacuna.open(self.made_up())
        expected = [row["durNs"] for row in trace.sql("SELECT durNs FROM kernel")]
        self.assertEqual(integers_of_first_column(trace.table("SELECT durNs FROM kernel")), expected)
        starts = [row["startNs"] for row in trace.sql("SELECT startNs FROM kernel")]
        self.assertEqual(list(trace.tables["kernel"])[0], "startNs")
        self.assertEqual(integers_of_first_column(trace.table("kernel")), starts)
        self.assertEqual(trace.tables["kernel"]["name"], "utf8")
        for table in ("process", "collective", "report_findings"):
            self.assertIn(table, trace.tables)
            trace.table(table).__arrow_c_stream__()  # a capsule that nobody takes
        gc.collect()
        with self.assertRaisesRegex(lacuna.Error, "no such table: kernels"):
            trace.table("kernels").__arrow_c_stream__()
        with self.assertRaisesRegex(lacuna.Error, "pip install pyarrow"):
            trace.table("kernel").to_arrow()

    def test_a_capsule_may_live_until_the_interpreter_ends(self):
        code = "import lacuna, sys; sys.kept = lacuna.open(sys.argv[1]).table('kernel').__arrow_c_stream__()"
        done = subprocess.run([sys.executable, "-c", code, self.made_up()], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_errors_name_the_cause(self):
        with self.assertRaisesRegex(lacuna.Error, "does not exist"):
            lacuna.open(self.folder / "none.lcn")
        other = self.folder / "text.lcn"
        other.write_text("no trace")
        with self.assertRaisesRegex(lacuna.Error, "text.lcn"):
            lacuna.open(other)
        trace = lacuna.open(self.made_up())
        with self.assertRaisesRegex(lacuna.Error, "nothing"):
            trace.sql("SELECT nothing FROM kernel")
        with self.assertRaisesRegex(ValueError, "name a change"):
            trace.whatif()

    def test_another_command_can_be_named(self):
        wrong = dict(os.environ, LACUNA_PROGRAM=str(self.folder / "gone"))
        done = subprocess.run([sys.executable, "-m", "lacuna", "--version"], env=wrong, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("unset LACUNA_PROGRAM", done.stderr)

    def test_the_licences_of_what_is_inside_come_along(self):
        prefix = lacuna.program().parent.parent
        materials = json.loads((prefix / "share/doc/lacuna/lacuna.cdx.json").read_text())
        names = {part["name"] for part in materials["components"]}
        self.assertLessEqual({"fmt", "zstd", "simdjson", "SQLite", "elfutils"}, names)
        static = [part["name"] for part in materials["components"] if "static" in json.dumps(part["properties"])]
        texts = list((prefix / "share/doc/lacuna/licences").glob("*"))
        self.assertGreaterEqual(len(texts), len(static))


if __name__ == "__main__":
    unittest.main(verbosity=2)
