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
import tarfile
import tempfile
import time
import unittest
import unittest.mock

SCRIPT, LACUNA = map(os.path.abspath, sys.argv[1:3])
loader = importlib.machinery.SourceFileLoader("gpu_check", SCRIPT)
sys.dont_write_bytecode = True
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
loader.exec_module(gpu_check)

EXPECTED = {"axpy": 6, "axpy_in_graph": 4, "spin": 2, "h2d_copies": 3, "h2d_bytes": 300, "d2h_copies": 1, "d2h_bytes": 50,
        "memsets": 2, "memset_bytes": 20, "graph_launches": 2, "graph_nodes": 2, "streams": 2, "begin_ns": 0, "end_ns": 20000,
        "graph_ns": 7000, "graph_end_ns": 11000, "capture_ended": 0, "nodes": 5, "kernels": 6, "children_failed": 0}


class Session(gpu_check.Session):
    """A session whose programs are not run: what they would have left is in tables."""

    def __init__(self):
        super().__init__(pathlib.Path("/nonexistent"), pathlib.Path("/nonexistent"))
        self.gpu_missing = None
        self.tables = sqlite3.connect(":memory:")
        run = self.tables.execute
        run("create table kernel (name, startNs, durNs, correlation, graphId, queue, graphNodeId)")
        run("create table graph_node (id, original, timeNs)")
        run("insert into graph_node values (1, 0, 7500), (2, 0, 7600), (3, 1, 7700), (4, 2, 7800)")
        run("create table report_graph_replays (replays, under_recorded)")
        run("insert into report_graph_replays values (2, 0)")
        run("create table memcpy (copyKind, bytes, correlation)")
        run("create table memset (bytes, correlation)")
        run("create table api_call (name, startNs, correlation, thread)")
        run('create table "drop" (count)')
        run("create table counter_track (id, device, name)")
        run("create table counter_sample (track, value)")
        run("create table log (text, source)")
        for number, (name, value) in enumerate((("board power", 300), ("device memory in use", 5e9), ("SM active", 80),
                                                ("GPU active", 99), ("memory read", 1e9))):
            run("insert into counter_track values (?, 1, ?)", (number, name))
            run("insert into counter_sample values (?, ?)", (number, value))
        for i in range(12):
            name = "axpy(float*, float const*, float, int)" if i < 10 else "spin(long long)"
            graph, node = (7, 3 + i % 2) if 6 <= i < 10 else (0, 0)
            run("insert into kernel values (?, ?, 10, ?, ?, ?, ?)", (name, 1000 * i + 500, i + 1, graph, i % 2, node))
            run("insert into api_call values ('cudaLaunchKernel', ?, ?, 1)", (1000 * i, i + 1))
        for kind, size, correlation in ((1, 100, 20), (1, 100, 21), (1, 100, 22), (2, 50, 23)):
            run("insert into memcpy values (?, ?, ?)", (kind, size, correlation))
        for correlation in (24, 25):
            run("insert into memset values (10, ?)", (correlation,))
        for correlation in range(20, 26):
            run("insert into api_call values ('cudaMemcpyAsync', 0, ?, 1)", (correlation,))

        self.defects = {}  # SQL by trace: what a faulty recorder makes of it alone
        self.printed = {}  # by trace: what a program that it disturbs prints
        self.own = {}

    def run(self, command, **how):
        return subprocess.CompletedProcess(command, 0, json.dumps(self.output(command)), "")

    @staticmethod
    def output(words):
        names = {"capturing": ("capture_ended", "nodes"), "forks": ("kernels", "children_failed")}
        return {key: EXPECTED[key] for key in names.get(words[1], EXPECTED)}

    # What each of these modes leaves of the tables.
    MODES = {"kernels": ("delete from api_call",), "off": ("delete from kernel", "delete from api_call"),
             "graphs": ("delete from kernel where graphId != 0 and rowid not in (select max(rowid) from kernel where graphId != 0 "
                        "group by graphNodeId)",)}

    def record(self, name, words, options=(), expected_log=None, **variables):
        tables = sqlite3.connect(":memory:")
        self.tables.commit()
        self.tables.backup(tables)
        changes = self.MODES.get(options[1], ()) if options and options[0] == "--cuda" else ()
        if words[1:2] == ["forks"]:
            changes = ("delete from kernel where graphId != 0 or name like 'spin(%'", "update kernel set name = 'nothing()'")
        for change in (*changes, *self.defects.get(name, ())):
            tables.execute(change)
        self.own[name] = tables
        self.take_log(name, expected_log)
        return name, json.dumps(self.printed.get(name, self.output(words)))

    def query(self, trace, sql):
        return self.own.get(trace, self.tables).execute(sql).fetchall()


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
        self.assertEqual(self.failures(gpu_check.check_hardware_counters), [])

    # Each defect, planted in the trace that a check records, and the check that fails of it.
    DEFECTS = {
        "a kernel is lost": ("kernels", "known.lcn", "delete from kernel where correlation = 11"),
        "work has no call": ("correlation", "correlated.lcn", "delete from api_call where correlation = 20"),
        "calls are recorded with --cuda kernels": ("modes", "mode-kernels.lcn", "insert into api_call values ('cudaFree', 1, 99, 1)"),
        "device work is lost with --cuda kernels": ("modes", "mode-kernels.lcn", "delete from kernel where correlation = 2"),
        "nodes are recorded with --cuda graphs": ("modes", "mode-graphs.lcn", "insert into kernel values ('axpy(int)', 1, 1, 1, 7, 1, 3)"),
        "CUDA is recorded with --cuda off": ("modes", "mode-off.lcn", "insert into kernel values ('axpy(int)', 1, 1, 1, 0, 1, 0)"),
        "stamps are of another clock": ("clock", "clock.lcn", "update kernel set startNs = startNs + 50000"),
        "stamps are of an earlier clock": ("clock", "clock.lcn", "update kernel set startNs = startNs - 50000"),
        "the clock was set": ("clock", "clock.lcn", "insert into log values ('the clock of CUPTI''s stamps was set 1 times', 'other')"),
        "a later kind ends its buffer": ("later_kinds", "later-kinds.lcn",
                                         "insert into log values ('1 CUPTI buffers ended within a record or held …', 'other')"),
        "a later kind costs a kernel": ("later_kinds", "later-kinds.lcn", "delete from kernel where correlation = 5"),
        "a launch has two rows": ("calls", "calls.lcn", "insert into api_call values ('cuLaunchKernel', 1, 1, 1)"),
        "threads are numbered otherwise": ("calls", "calls.lcn", "update api_call set thread = 0 where correlation = 1"),
        "nodes of graphs are not noted": ("graphs", "graph-nodes.lcn", "delete from graph_node"),
        "nodes are noted when they are replayed": ("graphs", "graph-nodes.lcn", "update graph_node set timeNs = timeNs + 100000"),
        "a replay lacks a node": ("graphs", "graph-nodes.lcn", "update report_graph_replays set under_recorded = 1"),
        "a fork costs a kernel": ("forks", "forks.lcn", "delete from kernel where correlation = 1"),
        "something is not recorded": ("log", "calls.lcn", "insert into log values ('CUPTI refused to record 3 calls of CUDA', 'lacuna')"),
        "power is missing": ("counters", "counters.lcn", "delete from counter_track where name = 'board power'"),
        "counters are impossible": ("hardware_counters", "hardware-counters.lcn", "update counter_sample set value = 300 where track = 2"),
    }
    DISTURBED = {"a capture is broken": ("capturing", "capturing.lcn", {"capture_ended": 901, "nodes": 0}),
                 "a child hangs": ("forks", "forks.lcn", {"kernels": 6, "children_failed": 1})}
    ON_TABLES = ("kernels", "modes", "correlation", "clock", "later_kinds", "calls", "graphs", "capturing", "forks", "counters",
                 "hardware_counters", "log")

    def failed_checks(self, session):
        with contextlib.redirect_stdout(io.StringIO()):
            for name in self.ON_TABLES:
                gpu_check.run_one(session, name, gpu_check.CHECKS[name])
        return {outcome["check"] for outcome in session.outcomes if outcome["result"] != "holds"}

    def test_all_checks_pass_without_a_defect(self):
        self.assertEqual(self.failed_checks(Session()), set())

    def test_each_defect_makes_its_own_check_fail_and_no_other(self):
        for name, (check, trace, change) in self.DEFECTS.items():
            with self.subTest(name):
                session = Session()
                session.defects[trace] = [change]
                self.assertEqual(self.failed_checks(session), {check})
        for name, (check, trace, printed) in self.DISTURBED.items():
            with self.subTest(name):
                session = Session()
                session.printed[trace] = printed
                self.assertEqual(self.failed_checks(session), {check})

    def test_each_check_on_a_gpu_has_a_defect_that_it_notices(self):
        planted = {check for check, *_ in (*self.DEFECTS.values(), *self.DISTURBED.values())}
        elsewhere = {"programs", "host_recording", "doctor", "golden", "kill", "capture", "torch", "overhead"}  # without tables
        self.assertEqual(planted | elsewhere, set(gpu_check.CHECKS))

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
        self.assertEqual(self.failures(gpu_check.check_hardware_counters, "update counter_sample set value = 300 where track = 2"),
                         ["percentages above 100"])

    def test_refused_hardware_counters_need_a_remedy(self):
        gone = "delete from counter_track where id >= 2"
        printed = "insert into log values ('no GPU hardware counters: refused. Remedy: ask for them', '')"
        self.assertEqual(self.failures(gpu_check.check_hardware_counters, gone, printed), [])
        self.assertEqual(self.failures(gpu_check.check_hardware_counters, gone, printed.replace("Remedy", "Well")), ["hardware counters"])


KINDS = sorted(gpu_check.RECORDS)


class Overhead(unittest.TestCase):
    """Runs on the figures that the known program would print with each setting, and on tables as its trace would
    have."""

    def outcomes(self, *changes, kinds=KINDS):
        session = Session()
        tables = session.tables.execute
        for table in ("sync", "allocation", "range"):
            tables(f"create table {table} (name, startNs, durNs)")
            tables(f"insert into {table} values ('nothing', 0, 0)")
        tables("insert into kernel values ('nothing()', 0, 0, 0, 0, 0, 0), ('nothing()', 0, 0, 0, 9, 0, 0)")
        tables("insert into api_call values ('cudaEventRecord', 0, 0, 1), ('cuEventRecord', 0, 0, 1)")
        for change in changes:
            tables(change)
        printed = {"ns": {kind: 100.0 + 10 * i for i, kind in enumerate(kinds)}, "count": {kind: 1 for kind in kinds}}
        slower = {**printed, "ns": {kind: ns + 7 for kind, ns in printed["ns"].items()}}
        session.record = lambda name, words, options=(), **variables: (name, json.dumps(slower))
        session.run = lambda command, **how: subprocess.CompletedProcess(command, 0, json.dumps(printed))
        with contextlib.redirect_stdout(io.StringIO()):
            gpu_check.check_overhead(session)
        return session.outcomes

    def failures(self, *changes, **how):
        return [outcome["what"] for outcome in self.outcomes(*changes, **how) if outcome["result"] == "fails"]

    def test_each_kind_has_its_cost_for_each_setting(self):
        outcomes = self.outcomes()
        self.assertEqual([outcome for outcome in outcomes if outcome["result"] == "fails"], [])
        figures = {outcome["what"]: outcome["found"] for outcome in outcomes if outcome["expected"] == "a figure"}
        self.assertEqual(len(figures), len(KINDS))
        first = figures[f"{KINDS[0]}: ns each, and what recording adds"]
        self.assertEqual(first, "100; nvtx only +7, nvtx and cuda +7, no memory +7, graph launches +7")

    def test_a_kind_whose_records_are_missing_is_noticed(self):
        self.assertEqual(self.failures("delete from allocation"), ["records of kind 'memory'"])
        self.assertEqual(self.failures("delete from kernel where graphId = 9"), ["records of kind 'graph node'"])

    def test_a_kind_that_was_not_measured_is_noticed(self):
        self.assertEqual(self.failures(kinds=KINDS[1:]), ["kinds of work that were measured"])

    def test_the_known_program_measures_every_kind(self):
        source = (pathlib.Path(SCRIPT).parents[1] / "tests" / "gpu" / "known_program.cu").read_text()
        for kind in KINDS:
            self.assertIn(f'cost("{kind}"', source)


def event(category, name, ns=0, **arguments):
    return {"ph": "X", "cat": category, "name": name, "dur": ns / 1000, "args": arguments}


class Torch(unittest.TestCase):
    """A profile as PyTorch writes it, by hand, against tables of ours."""

    PROFILE = [event("kernel", "_Z4axpyPfPKffi", 1000), event("kernel", "axpy(float*, float const*, float, int)", 1010),
               event("kernel", "sgemm_128", 50000), event("kernel", "sgemm_128", 50100), event("kernel", "sgemm_128", 50200),
               event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 700, bytes=4096),
               event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 700, bytes=512),
               event("gpu_memset", "Memset (Device)", 90, bytes=64), event("cpu_op", "aten::mm", 5),
               event("cuda_runtime", "cudaLaunchKernel", 5), {"ph": "i", "cat": "kernel", "name": "no duration"}]

    def failures(self, *changes, profiles=(PROFILE, PROFILE)):
        session = Session()
        tables = session.tables.execute
        tables("create table range (name, startNs, durNs)")
        tables("insert into range values ('measured', 0, 100000)")
        for table, columns in (("kernel", "name, startNs, durNs"), ("memcpy", "copyKind, bytes, startNs"), ("memset", "bytes, startNs")):
            tables(f"drop table {table}")
            tables(f"create table {table} ({columns})")
        tables("insert into kernel values ('axpy(float*, float const*, float, int)', 1, 1000), "
               "('axpy(float*, float const*, float, int)', 2, 1006), ('sgemm_128', 3, 50000), ('sgemm_128', 4, 50100), "
               "('sgemm_128', 5, 50300), ('before it', -5, 10)")
        tables("insert into memcpy values (1, 4096, 6), (8, 512, 7), (1, 4096, 200000)")
        tables("insert into memset values (64, 8)")
        for change in changes:
            tables(change)
        oracles = [gpu_check.counts_by_torch(profile) for profile in profiles]
        with contextlib.redirect_stdout(io.StringIO()):
            gpu_check.compare_with_torch(session, oracles, gpu_check.counts_by_lacuna(session, "trace"))
        return sorted({outcome["what"] for outcome in session.outcomes if outcome["result"] == "fails"})

    def test_the_same_work_passes(self):
        self.assertEqual(self.failures(), [])

    def test_kernels_under_another_name_are_noticed_although_their_number_is_right(self):
        self.assertIn("kernels by name", self.failures("update kernel set name = 'other' where startNs = 1"))

    def test_a_symbol_on_either_side_is_the_same_kernel(self):
        self.assertEqual(self.failures("update kernel set name = '_Z4axpyPfPKffi' where startNs = 2"), [])

    def test_a_kernel_whose_durations_are_off_is_noticed_although_the_total_is_right(self):
        self.assertEqual(self.failures("update kernel set durNs = durNs * 1.05 where name like 'axpy%'"),
                         ["median duration of axpy(float*, float const*, float, int)"])

    def test_a_total_that_is_off_is_noticed(self):
        self.assertEqual(self.failures("update kernel set durNs = 90000 where startNs = 5"), ["total duration of all kernels"])

    def test_copies_of_another_kind_or_size_are_noticed(self):
        self.assertEqual(self.failures("update memcpy set copyKind = 2 where startNs = 6"), ["copies and bytes by kind"])
        self.assertEqual(self.failures("update memcpy set bytes = 1 where startNs = 7"), ["copies and bytes by kind"])
        self.assertEqual(self.failures("update memset set bytes = 1"), ["memsets and bytes"])

    def test_one_oracle_of_two_is_enough_to_notice(self):
        self.assertIn("kernels by name", self.failures(profiles=(self.PROFILE, self.PROFILE[1:])))


class Time(unittest.TestCase):
    def concluded(self, seconds):
        with tempfile.TemporaryDirectory() as place:
            session = Session()
            session.results = pathlib.Path(place)
            now = unittest.mock.patch.object(session, "seconds", return_value=seconds)
            with now, contextlib.redirect_stdout(io.StringIO()):
                code = gpu_check.conclude(session)
            summary = json.loads((session.results / "summary.json").read_text())
            self.assertEqual(summary["outcomes"][-1]["what"], "seconds for all checks")
            return code, summary["failed"]

    def test_ten_minutes_must_do(self):
        self.assertEqual(self.concluded(599), (0, 0))
        self.assertEqual(self.concluded(600), (1, 1))

    @staticmethod
    def lives(stat):
        try:
            return stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_what_takes_too_long_is_ended_with_all_that_it_started(self):
        with tempfile.TemporaryDirectory() as place:
            note = pathlib.Path(place) / "pid"
            for seconds in (1, 10, 30):  # until it has got to note what it started
                with self.assertRaises(subprocess.TimeoutExpired):
                    gpu_check.run(["sh", "-c", f"sleep 600 & echo $! > {note}; wait"], seconds=seconds, capture_output=True)
                if note.exists() and note.read_text():
                    break
            begun = pathlib.Path("/proc", note.read_text().strip(), "stat")
            deadline = time.monotonic() + 30  # a killed process ends when it runs next
            while self.lives(begun) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertFalse(self.lives(begun))

    def test_what_reads_finds_nothing_to_wait_for(self):
        self.assertEqual(gpu_check.run(["cat"], seconds=60, capture_output=True).stdout, "")

    def test_a_driver_that_does_not_answer_costs_its_name_only(self):
        with tempfile.TemporaryDirectory() as place:
            stub = pathlib.Path(place) / "nvidia-smi"
            stub.write_text("#!/bin/sh\nsleep 60\n")
            stub.chmod(0o755)
            self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
            self.addCleanup(setattr, gpu_check, "ASK_SECONDS", gpu_check.ASK_SECONDS)
            os.environ["PATH"] = f"{place}:{os.environ['PATH']}"
            gpu_check.ASK_SECONDS = 0.1
            self.assertEqual(gpu_check.name_of_gpu(), "")

    def test_whatever_a_check_meets_is_its_own_failure(self):
        def meets_the_unexpected(session):
            raise ZeroDivisionError("nothing ran")

        session = Session()
        with contextlib.redirect_stdout(io.StringIO()):
            gpu_check.run_one(session, "kernels", meets_the_unexpected)
        self.assertEqual([outcome["result"] for outcome in session.outcomes], ["fails"])

    def test_traces_are_kept_as_far_as_there_is_room(self):
        with tempfile.TemporaryDirectory() as place:
            traces, results = pathlib.Path(place, "traces"), pathlib.Path(place, "results")
            traces.mkdir()
            results.mkdir()
            for name, size in (("large.lcn", 90), ("small.lcn", 20), ("middle.lcn", 60)):
                (traces / name).write_bytes(bytes(size))
            (traces / "killed.lcn.recording").mkdir()
            session = gpu_check.Session(pathlib.Path(place), results, traces)
            self.addCleanup(setattr, gpu_check, "MAX_TRACES_BYTES", gpu_check.MAX_TRACES_BYTES)
            gpu_check.MAX_TRACES_BYTES = 100
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                session.keep_traces()
            with tarfile.open(results / "traces.tar.gz") as archive:
                self.assertEqual(archive.getnames(), ["small.lcn", "middle.lcn"])
            self.assertIn("not kept: large.lcn", printed.getvalue())

    def test_a_check_for_which_no_time_is_left_fails(self):
        session = Session()
        session.begin -= gpu_check.LAST_SECONDS
        with contextlib.redirect_stdout(io.StringIO()):
            gpu_check.run_one(session, "kernels", self.fail)
        self.assertEqual([outcome["result"] for outcome in session.outcomes], ["fails"])

    def test_what_was_found_is_there_although_the_rest_never_ended(self):
        def never_ends(session):
            raise KeyboardInterrupt

        checks = gpu_check.CHECKS
        self.addCleanup(setattr, gpu_check, "CHECKS", checks)
        gpu_check.CHECKS = {"one": lambda session: gpu_check.equal(session, "one", "one", 1, 1), "two": never_ends}
        with tempfile.TemporaryDirectory() as place:
            with contextlib.redirect_stdout(io.StringIO()), self.assertRaises(KeyboardInterrupt):
                gpu_check.check_all(pathlib.Path(place), pathlib.Path(place), None)
            self.assertEqual(json.loads((pathlib.Path(place) / "summary.json").read_text())["held"], 1)


class Log(unittest.TestCase):
    def test_notes_of_the_recorder_are_kept_once(self):
        session = Session()
        session.tables.execute("drop table log")
        session.tables.execute("create table log (source, text)")
        session.tables.execute("insert into log values ('lacuna', 'no CUDA timeline'), ('program', 'hello')")
        with contextlib.redirect_stdout(io.StringIO()):
            session.take_log("trace")
            session.take_log("trace")
        self.assertEqual(session.logged, ["no CUDA timeline"])


class Golden(unittest.TestCase):
    """The captures that the tests have, replayed by the command itself."""

    def outcomes(self, change=lambda expected: None):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "bin").mkdir()
            (folder / "bin" / "lacuna").symlink_to(LACUNA)
            shutil.copytree(pathlib.Path(SCRIPT).parents[1] / "tests" / "data" / "cupti", folder / "golden")
            for capture in (folder / "golden").iterdir():
                probe = subprocess.run([LACUNA, "convert", capture, "-o", folder / "probe.lcn"], capture_output=True, text=True)
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
            # ldd looks beside the link, where --build puts the library.
            (folder / "lib").symlink_to(pathlib.Path(LACUNA).parents[1] / "lib")
            done = subprocess.run([sys.executable, SCRIPT, "--run", folder], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, gpu_check.NO_GPU, done.stdout + done.stderr)
            self.assertIn("not run: calls, capture, capturing, clock, correlation, counters, forks, golden, graphs, hardware_counters, kernels, kill, later_kinds, log, "
                          "modes, overhead, torch", done.stdout)
            summary = json.loads((folder / "results" / "summary.json").read_text())
            self.assertEqual(summary["failed"], 0)
            self.assertGreaterEqual(summary["held"], 5)
            self.assertEqual(sorted(path.name for path in (folder / "results").iterdir()),
                             ["doctor.txt", "summary.json", "traces.tar.gz"])
            with tarfile.open(folder / "results" / "traces.tar.gz") as traces:
                self.assertIn("host.lcn", traces.getnames())

    def test_a_folder_that_was_not_made_is_a_wrong_call(self):
        done = subprocess.run([sys.executable, SCRIPT, "--run", "/nonexistent"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("scripts/gpu-check --build", done.stderr)


CMAKE = """#!/bin/sh
echo "$*" >> "$0-called"
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

    def test_libraries_of_libraries_are_found_in_the_folder_too(self):
        self.build()
        called = (self.place / "stubs" / "cmake-called").read_text().splitlines()
        self.assertIn("-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags", called[0].split())

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
