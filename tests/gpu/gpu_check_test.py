# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check without a GPU: gpu_check_test.py SCRIPT LACUNA. Its checks run on tables as a GPU would fill them, and
must notice what is wrong in them; its host-side steps run for real."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SCRIPT, LACUNA = map(os.path.abspath, sys.argv[1:3])
loader = importlib.machinery.SourceFileLoader("gpu_check", SCRIPT)
sys.dont_write_bytecode = True
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
loader.exec_module(gpu_check)

SAID = {"axpy": 6, "axpy_in_graph": 4, "spin": 2, "h2d_copies": 3, "h2d_bytes": 300, "d2h_copies": 1, "d2h_bytes": 50,
        "memsets": 2, "memset_bytes": 20, "graph_launches": 2, "streams": 2, "launch_seconds": 0.1}


class Session(gpu_check.Session):
    """A session whose programs are not run: what they would have left is in tables."""

    def __init__(self):
        super().__init__(pathlib.Path("/nonexistent"), pathlib.Path("/nonexistent"))
        self.gpu_missing = None
        self.tables = sqlite3.connect(":memory:")
        run = self.tables.execute
        run("create table kernel (name, startNs, durNs, correlation, graphId, queue)")
        run("create table memcpy (copyKind, bytes, correlation)")
        run("create table memset (bytes, correlation)")
        run("create table api_call (name, startNs, correlation)")
        run('create table "drop" (count)')
        run("create table counter_track (id, device, name)")
        run("create table counter_sample (track, value)")
        run("create table log (text)")
        for number, (name, value) in enumerate((("board power", 300), ("device memory in use", 5e9), ("SM active", 80),
                                                ("GPU active", 99), ("memory read", 1e9))):
            run("insert into counter_track values (?, 1, ?)", (number, name))
            run("insert into counter_sample values (?, ?)", (number, value))
        for i in range(12):
            name = "axpy(float*, float const*, float, int)" if i < 10 else "spin(long long)"
            run("insert into kernel values (?, ?, 10, ?, ?, ?)", (name, 1000 * i + 500, i + 1, 7 if 6 <= i < 10 else 0, i % 2))
            run("insert into api_call values ('cudaLaunchKernel', ?, ?)", (1000 * i, i + 1))
        for kind, size, correlation in ((1, 100, 20), (1, 100, 21), (1, 100, 22), (2, 50, 23)):
            run("insert into memcpy values (?, ?, ?)", (kind, size, correlation))
        for correlation in (24, 25):
            run("insert into memset values (10, ?)", (correlation,))
        for correlation in range(20, 26):
            run("insert into api_call values ('cudaMemcpyAsync', 0, ?)", (correlation,))

    def record(self, name, words, options=(), **variables):
        return name, json.dumps(SAID)

    def query(self, trace, sql):
        return self.tables.execute(sql).fetchall()


class Checks(unittest.TestCase):
    def failures(self, check, *changes):
        session = Session()
        for change in changes:
            session.tables.execute(change)
        with contextlib.redirect_stdout(io.StringIO()):
            check(session)
        return [outcome["what"] for outcome in session.outcomes if outcome["result"] == "fails"]

    def test_a_right_trace_passes(self):
        self.assertEqual(self.failures(gpu_check.check_kernels), [])
        self.assertEqual(self.failures(gpu_check.check_correlation), [])
        self.assertEqual(self.failures(gpu_check.check_counters), [])

    def test_a_lost_kernel_is_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_kernels, "delete from kernel where correlation = 11"), ["kernels by name"])

    def test_a_foreign_kernel_is_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_kernels, "update kernel set name = 'other' where correlation = 11"), ["kernels by name"])

    def test_a_name_that_is_still_a_symbol_is_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_kernels, "update kernel set name = '_Z4axpyPfPKffi' where correlation = 1"),
                         ["kernels by name"])

    def test_wrong_bytes_are_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_kernels, "update memcpy set bytes = 99 where correlation = 20"), ["h2d copies and bytes"])

    def test_drops_are_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_kernels, 'insert into "drop" values (3)'), ["dropped events"])

    def test_a_kernel_without_its_launch_is_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_correlation, "update kernel set correlation = 99 where correlation = 3"),
                         ["kernel rows without their call"])

    def test_a_kernel_before_its_launch_is_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_correlation, "update kernel set startNs = -50000 where correlation = 1"),
                         ["earliest start of a kernel against its launch (ns)"])


    def test_missing_and_impossible_counters_are_noticed(self):
        self.assertEqual(self.failures(gpu_check.check_counters, "delete from counter_track where name = 'board power'"),
                         ["most of 'board power'"])
        self.assertEqual(self.failures(gpu_check.check_counters, "update counter_sample set value = 300 where track = 2"),
                         ["percentages above 100"])

    def test_refused_hardware_counters_need_a_remedy(self):
        gone = "delete from counter_track where id >= 2"
        said = "insert into log values ('no GPU hardware counters: refused. Remedy: ask for them')"
        self.assertEqual(self.failures(gpu_check.check_counters, gone, said), [])
        self.assertEqual(self.failures(gpu_check.check_counters, gone, said.replace("Remedy", "Well")), ["hardware counters"])


class Golden(unittest.TestCase):
    """The captures that the tests have, replayed by the command itself."""

    def outcomes(self, change=lambda expected: None):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "bin").mkdir()
            (folder / "bin" / "lacuna").symlink_to(LACUNA)
            shutil.copytree(pathlib.Path(SCRIPT).parents[1] / "tests" / "data" / "cupti", folder / "golden")
            for capture in (folder / "golden").iterdir():
                probe = subprocess.run([LACUNA, "convert", capture, folder / "probe.lcn"], capture_output=True, text=True)
                if "was built without the CUDA toolkit" in probe.stderr:
                    self.skipTest(probe.stderr)
                expected = json.loads((capture / "expected.json").read_text())
                change(expected)
                (capture / "expected.json").write_text(json.dumps(expected))
            session = gpu_check.Session(folder, folder)
            with contextlib.redirect_stdout(io.StringIO()):
                gpu_check.check_golden(session)
            return [outcome["result"] for outcome in session.outcomes]

    def test_every_golden_capture_decodes_to_what_it_did(self):
        outcomes = self.outcomes()
        self.assertGreaterEqual(len(outcomes), 1)
        self.assertEqual(set(outcomes), {"holds"})

    def test_another_row_is_noticed(self):
        self.assertEqual(set(self.outcomes(lambda expected: expected["kernels"].update(spin=77))), {"fails"})


class Host(unittest.TestCase):
    @unittest.skipIf(gpu_check.find_gpu() is None, "there is a GPU here")
    def test_without_a_gpu_the_host_side_runs_and_the_rest_is_named(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "bin").mkdir()
            (folder / "bin" / "lacuna").symlink_to(LACUNA)
            done = subprocess.run([sys.executable, SCRIPT, "--run", folder], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, gpu_check.NO_GPU, done.stdout + done.stderr)
            self.assertIn("not run: capture, correlation, counters, golden, graph_mode, kernels, kill, overhead, torch", done.stdout)
            summary = json.loads((folder / "results" / "summary.json").read_text())
            self.assertEqual(summary["failed"], 0)
            self.assertGreaterEqual(summary["held"], 5)

    def test_a_folder_that_was_not_made_is_a_wrong_call(self):
        done = subprocess.run([sys.executable, SCRIPT, "--run", "/nonexistent"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("scripts/gpu-check --build", done.stderr)


CMAKE = """#!/bin/sh
case "$*" in
  --install*) shift 3
    mkdir -p "$1/bin" "$1/lib/lacuna" && cp "$(command -v cat)" "$1/bin/lacuna" && echo new > "$1/lib/lacuna/plugin" ;;
esac
"""
NVCC = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo program > "$2"
"""


class Build(unittest.TestCase):
    """With a cmake and an nvcc that only leave files where the real ones would."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.root = self.place / "root"
        (self.root / "tests" / "gpu").mkdir(parents=True)
        (self.root / "tests" / "gpu" / "torch_program.py").write_text("")
        (self.root / "tests" / "data" / "cupti" / "capture").mkdir(parents=True)
        (self.root / "tests" / "data" / "cupti" / "capture" / "expected.json").write_text("{}")
        self.folder = self.place / "folder"
        stubs = self.place / "stubs"
        stubs.mkdir()
        for name, text in (("cmake", CMAKE), ("nvcc", NVCC)):
            (stubs / name).write_text(text)
            (stubs / name).chmod(0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{stubs}:{path}"

    def build(self, folder=None):
        with contextlib.redirect_stdout(io.StringIO()):
            gpu_check.build(folder or self.folder, self.root)

    def test_a_folder_is_made_and_made_anew_with_its_results_kept(self):
        self.folder.mkdir()
        self.build()
        (self.folder / "results").mkdir()
        (self.folder / "results" / "summary.json").write_text("precious")
        (self.folder / "lib" / "lacuna" / "plugin").write_text("old")
        (self.folder / "bin" / "stale").write_text("")
        self.build()
        self.assertEqual((self.folder / "results" / "summary.json").read_text(), "precious")
        self.assertEqual((self.folder / "lib" / "lacuna" / "plugin").read_text(), "new\n")
        self.assertTrue((self.folder / "golden" / "capture" / "expected.json").exists())
        self.assertEqual(sorted(path.name for path in (self.folder / "bin").iterdir()), ["known_program", "lacuna"])

    def test_a_folder_that_holds_something_else_is_left_as_it_is(self):
        for name in ("thesis.tex", "bin/tool", "lib/tool", "gpu-check"):
            folder = self.place / name.replace("/", "-")
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text("precious")
            with self.assertRaises(SystemExit) as refused:
                self.build(folder)
            self.assertIn(f"{folder} holds something else", str(refused.exception))
            self.assertEqual([str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()], [name])
        (self.place / "file").write_text("precious")
        with self.assertRaises(SystemExit) as refused:
            self.build(self.place / "file")
        self.assertIn("is not a folder", str(refused.exception))

    def test_a_folder_whose_making_failed_is_made_again(self):
        nvcc = self.place / "stubs" / "nvcc"
        nvcc.write_text("#!/bin/sh\nexit 1\n")
        with self.assertRaises(subprocess.CalledProcessError):
            self.build()
        nvcc.write_text(NVCC)
        self.build()
        self.assertTrue((self.folder / "bin" / "known_program").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
