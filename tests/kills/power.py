# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""One power cut: the changes that a supervisor made to files, made again up to a moment, on a disk that had not written all of them."""

import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

import disk  # noqa: E402
import expected  # noqa: E402
import judge  # noqa: E402
import ledger  # noqa: E402
import processes  # noqa: E402

OLD = b"older file\n" * 100
CODE = 37
NAME = "out.lcn"
THREADS = 2
Kind = collections.namedtuple("Kind", "name")


def can_trace(setting):
    """Whether this machine lets a process be traced, by a tracer that was built."""
    if not os.path.exists(setting.tracer):
        return False
    return subprocess.run([setting.tracer, "--below", "/nowhere", "--", "true"], capture_output=True).returncode == 0


class Plan:
    def __init__(self, seed, number):
        rng = self.rng = random.Random(f"{seed}-{number}")
        self.kind, self.target = Kind("traced"), "power"
        self.options = rng.choice(["--trace nvtx", "--trace nvtx,counters", "--trace nvtx,counters,samples"])
        self.most = int(10 ** rng.uniform(0.5, 4))
        self.deep = rng.choice([0, 3, 20])
        self.old = rng.random() < 0.5
        self.dumps = rng.choice([0, 1, 3])  # times that what was recorded so far is wanted in the trace
        self.moment = rng.random()

    def __str__(self):
        return f"{self.kind.name}, power cut"


class Outcome:
    def __init__(self):
        self.problems, self.events, self.dropped, self.how = [], 0, 0, "power cut"


class Cut:
    def __init__(self, setting, plan):
        self.setting, self.plan, self.outcome = setting, plan, Outcome()
        self.home = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="lacuna-kills-")))
        self.work, self.after, self.tmp = (self.home / name for name in ("work", "after", "tmp"))
        self.work.mkdir()
        self.tmp.mkdir()
        self.out = self.work / NAME
        self.environment = {**os.environ, "TMPDIR": str(self.tmp), "LC_ALL": "C.UTF-8"}
        self.ledger = ledger.Ledger(self.home / "ledger", 64)
        self.seen = set()

    def complain(self, text):
        self.outcome.problems.append(text)

    def run(self):
        before = {str(self.out): OLD} if self.plan.old else {}
        if self.plan.old:
            self.out.write_bytes(OLD)
        if self.record():
            self.replay(before, disk.read_log(self.home / "log"))
        return self.outcome

    def record(self):
        plan = self.plan
        words = [self.setting.tracer, "--below", str(self.work), "--log", str(self.home / "log"), "--", self.setting.lacuna, "run", "-q", *plan.options.split()]
        words += ["--force"] * plan.old + ["-o", NAME, "--", self.setting.program, str(self.home / "ledger")]
        group = processes.Group(words + [f"threads={THREADS}", f"most={plan.most}", f"deep={plan.deep}", f"code={CODE}"], self.work, self.environment)
        try:
            if not group.wait(lambda: self.ledger.steps() >= THREADS * plan.most or not group.reap(), 30):
                self.complain("the program does not come to its last step")
            self.ask_for_dumps(group)
            self.ledger.stop()
            if not group.ended(group.pid, 30) or group.ends[group.pid] != CODE:
                self.complain(f"lacuna run ends with {group.ends.get(group.pid)}, the program with {CODE}")
        finally:
            group.kill_all()
            group.gone()
        self.lines = [judge.Thread(pid, tid, steps, False) for pid, tid, steps in self.ledger.all()]
        self.problems_of(self.out, "without a power cut", complete=True)
        return not self.outcome.problems

    def ask_for_dumps(self, group):
        supervisors = [str(pid) for pid in processes.children_of(group.pid)]
        for _ in range(self.plan.dumps):
            subprocess.run([self.setting.lacuna, "trigger", *supervisors, "--dump"], env=self.environment, capture_output=True, timeout=20)

    def problems_of(self, trace, where, complete):
        there = judge.read(self.setting.lacuna, trace, self.environment)
        if isinstance(there, str):
            return self.complain(f"{where}: {there}")
        if complete:
            self.outcome.problems += [f"{where}: {problem}" for problem in judge.complete(self.lines, there, self.plan.deep)]
        else:
            self.outcome.problems += [f"{where}: {problem}" for problem in judge.part(self.lines, there, self.plan.deep, lost_texts="torn" in where)]
        self.outcome.events = max(self.outcome.events, rows_of(there))
        return there

    def replay(self, before, log):
        model = disk.Disk(before)
        moment = round(self.plan.moment * len(log))
        for op in log[:moment]:
            model.apply(op)
        settings = str(self.work / f"{NAME}.recording" / "settings")
        # The recording goes when its trace is on the disk.
        promised = any(op["what"] == "remove" and op["path"] == settings for op in log[:moment])
        self.durable = self.rows_of_file((model.durable_names.get(str(self.out)) or disk.Inode()).durable or b"")
        for state, files in [*model.states(), ("power cut, torn", model.torn(self.plan.rng))]:
            if state != "killed":
                self.check_state(f"{state}, after change {moment} of {len(log)}", files, promised)
        shutil.rmtree(self.after, ignore_errors=True)

    def check_state(self, where, files, promised):
        key = hash(tuple(sorted(files.items())))
        if key in self.seen:
            return
        self.seen.add(key)
        self.materialise(files)
        data = files.get(str(self.out))
        if promised and data is None:
            return self.complain(f"{where}: the recording has gone, and there is no trace")
        if data is None or data == OLD:
            if self.plan.old and data is None:
                self.complain(f"{where}: neither the older file nor a trace is there")
            return self.recover_folder(where)
        self.recover_file(where, promised)
        self.recover_folder(where)

    def materialise(self, files):
        shutil.rmtree(self.after, ignore_errors=True)
        self.after.mkdir()
        for path, data in files.items():
            to = self.after / os.path.relpath(path, self.work)
            to.parent.mkdir(exist_ok=True, mode=0o700)
            to.write_bytes(data)

    def rows_of_file(self, data):
        if data in (b"", OLD):
            return None
        self.materialise({str(self.out): data})
        return self.recovered("what is durable", NAME, False)

    def recovered(self, where, name, complete):
        done = subprocess.run([self.setting.lacuna, "recover", "--force", name, "-o", "recovered.lcn"], cwd=self.after, env=self.environment, capture_output=True,
                              timeout=60)
        if done.returncode != 0:
            return self.complain(f"{where}: recover ends with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return self.problems_of(self.after / "recovered.lcn", where, complete)

    def recover_file(self, where, promised):
        there = self.recovered(where, NAME, promised)
        if there is None or self.durable is None:
            return
        for who, rows in self.durable.threads.items():
            for group, numbers in rows.items():
                if not judge.is_part_of(numbers, there.threads.get(who, {}).get(group, [])):
                    self.complain(f"{where}: {group.table} {group.name!r} had been synced and is lost")

    def recover_folder(self, where):
        """The segments went with the power, so mostly that is an error; it must not be a crash, nor a trace of anything else."""
        if not (self.after / f"{NAME}.recording").is_dir():
            return
        before = disk.files_below(self.after)
        done = subprocess.run([self.setting.lacuna, "recover", f"{NAME}.recording", "-o", "folder.lcn"], cwd=self.after, env=self.environment, capture_output=True,
                              timeout=60)
        if done.returncode == 0:
            self.problems_of(self.after / "folder.lcn", f"{where}, the recording", False)
        elif done.returncode != 1 or b"lacuna: error:" not in done.stderr:
            self.complain(f"{where}: recover of the recording ends with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        elif disk.files_below(self.after) != before:
            self.complain(f"{where}: recover of the recording fails, and changes files")

    def close(self):
        self.ledger.close()
        shutil.rmtree(self.home, ignore_errors=True)


def rows_of(there):
    return sum(sum(len(numbers) for numbers in rows.values()) for rows in there.threads.values())
