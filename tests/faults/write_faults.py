#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""write_faults.py --lacuna LACUNA --tracer FAULT_TRACER [--program NVTX_PROGRAM] [--all] [SUBJECT…]

Lets every change that a command makes to files fail once, and cuts the power after each of them. The file that was
there before is whole then, or the new one is; of a recording the readable part is. Without --all, some of the places.
"""
import argparse
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import disk  # noqa: E402

OLD = b"older file\n" * 100
SOME = 5  # places of a subject that are tried without --all
CODES = [str(errno.ENOSPC), str(errno.EIO), "short"]


class Subject:
    """A command that replaces the file `target` in the folder `work`."""

    code = 0  # with which it ends

    def __init__(self, name, target, words, prepare=None, timeline=False):
        self.name, self.target, self.words, self.prepare = name, target, words, prepare
        self.exact = not timeline


class Bench:
    def __init__(self, options):
        self.options = options
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="lacuna-faults-"))
        self.work = os.path.join(self.home, "work")
        self.problems = []
        self.environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.home, "cache"), TMPDIR=self.home)
        # A leak is looked for by a process that traces this one, which is traced already.
        self.environment["ASAN_OPTIONS"] = self.environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

    def path(self, name):
        return os.path.join(self.home, name)

    def lacuna(self, *words, **how):
        return subprocess.run([self.options.lacuna, *words], cwd=self.work, env=self.environment, capture_output=True, **how)

    def fresh(self, subject):
        for folder, folders, _ in os.walk(self.work):
            for link in [name for name in folders if name == "shm"]:
                shutil.rmtree(os.readlink(os.path.join(folder, link)), ignore_errors=True)
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        with open(os.path.join(self.work, subject.target), "wb") as file:
            file.write(OLD)
        if subject.prepare:
            subject.prepare(self)

    def traced(self, subject, *how):
        self.fresh(subject)
        words = [self.options.tracer, "--below", self.work, "--count", self.path("count"), *how, "--"]
        command = [*words, self.options.lacuna, *subject.words]
        return subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, timeout=120)

    def content(self, subject):
        try:
            with open(os.path.join(self.work, subject.target), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def rows(self, data):
        """Rows of a trace; None where nothing can be read of it."""
        with open(self.path("state.lcn"), "wb") as file:
            file.write(data)
        if os.path.exists(self.path("state.out.lcn")):
            os.remove(self.path("state.out.lcn"))
        done = self.lacuna("recover", "--json", self.path("state.lcn"), "-o", self.path("state.out.lcn"))
        return json.loads(done.stdout)["rows"] if done.returncode == 0 else None

    def complain(self, subject, where, why):
        self.problems.append(f"{subject.name}: {where}: {why}")
        print(self.problems[-1], flush=True)

    def places(self, count):
        if self.options.all or count <= SOME:
            return list(range(1, count + 1))
        return sorted({1 + i * (count - 1) // (SOME - 1) for i in range(SOME)})

    def test(self, subject):
        done = self.traced(subject, "--log", self.path("log"))
        if done.returncode != subject.code:
            return self.complain(subject, "without a fault", f"ended with {done.returncode}: {done.stderr.decode()}")
        final = self.content(subject)
        with open(self.path("count")) as file:
            count = int(file.read())
        replayed = self.replay(subject, disk.read_log(self.path("log")), final)
        faults = self.fail_each(subject, count, final)
        print(f"{subject.name}: {count} changes, {faults} faults, {replayed} states", flush=True)

    def is_complete(self, subject, data, final):
        """The older file or the new one; in a trace that grows in place, all rows."""
        if data == OLD or data == final:
            return True
        if subject.exact or data is None:
            return False
        return self.rows(data) == self.rows(final)

    def replay(self, subject, log, final):
        self.fresh(subject)
        model, seen = disk.Disk(disk.files_below(self.work)), {}
        target = os.path.join(self.work, subject.target)
        for number, op in enumerate([None, *log]):
            if op:
                model.apply(op)
            for kind, files in model.states():
                data = files.get(target)
                key = hashlib.sha256(data or b"none").digest()
                if key not in seen:
                    seen[key] = subject.survives(self, data, final)
                if not seen[key]:
                    self.complain(subject, f"{kind} after change {number} ({op and op['what']})", "the file is not whole")
                    return len(seen)
        if bytes(model.names[target].data) != final:
            self.complain(subject, "replay", "the log does not lead to the file that was written")
        return len(seen)

    def fail_each(self, subject, count, final):
        faults = 0
        for place in self.places(count):
            for code in CODES:
                done = self.traced(subject, "--fail", str(place), "--with", code)
                where = f"change {place} of {count} fails with {code}"
                subject.judge(self, where, done, final)
                faults += 1
        return faults


def judge_file(self, bench, where, done, final):
    data = bench.content(self)
    if done.returncode < 0 or done.returncode > 2:
        bench.complain(self, where, f"ended with {done.returncode}")
    elif done.returncode == 0 and data == OLD:
        bench.complain(self, where, "no error, and no new file")
    elif not bench.is_complete(self, data, final):
        bench.complain(self, where, f"ended with {done.returncode}, and the file is not whole")


def survives_file(self, bench, data, final):
    return bench.is_complete(self, data, final)


Subject.judge = judge_file
Subject.survives = survives_file


class Run(Subject):
    """lacuna run, whose trace grows in place: whatever is found of it is the older file, or can be read."""

    code = 3  # of ending_program

    def survives(self, bench, data, final):
        return data == OLD or bench.rows(data) is not None

    def judge(self, bench, where, done, final):
        data = bench.content(self)
        recording = os.path.join(bench.work, self.target + ".recording")
        readable = data == OLD or (data is not None and bench.rows(data) is not None)
        if not readable and os.path.isdir(recording):
            readable = bench.lacuna("recover", "--force", recording, "-o", bench.path("recovered.lcn")).returncode == 0
        if not readable:
            bench.complain(self, where, f"ended with {done.returncode}, and nothing can be read")
        began = os.path.exists(os.path.join(bench.work, "place.txt"))
        if began and done.returncode != self.code:
            bench.complain(self, where, f"the program ends with {self.code}, the run with {done.returncode}")
        if began and data == OLD and not os.path.isdir(recording):
            bench.complain(self, where, "the program ran, and there is neither a trace nor a recording")


def killed_recording(bench):
    """A recording whose supervisor and program were killed, with its segments in the folder itself."""
    kept = bench.path("killed")
    if not os.path.isdir(kept):
        os.makedirs(kept)
        program = f"{bench.options.program} wait & echo $! >pid; wait"
        words = [bench.options.lacuna, "run", "-q", "--trace", "nvtx", "-o", "a.lcn", "--", "sh", "-c", program]
        run = subprocess.Popen(words, cwd=kept, env=bench.environment)
        until = time.time() + 60
        while time.time() < until and not os.path.exists(os.path.join(kept, "place.txt")):
            time.sleep(0.02)
        run.send_signal(signal.SIGKILL)
        run.wait()
        with open(os.path.join(kept, "pid")) as file:
            os.kill(int(file.read()), signal.SIGKILL)
        recording = os.path.join(kept, "a.lcn.recording")
        link = os.path.join(recording, "shm")
        if os.path.islink(link):
            shared = os.readlink(link)
            for name in os.listdir(shared):
                if name.endswith(".lcr"):
                    shutil.copy(os.path.join(shared, name), recording)
            shutil.rmtree(shared)
            os.remove(link)
        time.sleep(0.2)
    shutil.copytree(os.path.join(kept, "a.lcn.recording"), os.path.join(bench.work, "a.lcn.recording"))
    shutil.copy(os.path.join(kept, "a.lcn"), bench.work)


def damaged_trace(bench):
    with open(bench.path("in.lcn"), "rb") as file:
        data = file.read()
    with open(os.path.join(bench.work, "damaged.lcn"), "wb") as file:
        file.write(data[: len(data) * 3 // 4])


def subjects(bench):
    source = bench.path("in.lcn")
    for ending in ("lcn", "json", "json.gz", "pftrace", "sqlite", "csv", "folded"):
        yield Subject(f"convert-{ending}", f"out.{ending}", ["convert", "-q", "--force", source, "-o", f"out.{ending}"])
    yield Subject("generate", "out.lcn", ["generate", "--force", "-o", "out.lcn", "--steps", "2"])
    yield Subject("report", "out.html", ["report", source, "--force", "-o", "out.html"])
    yield Subject("recover-file", "out.lcn", ["recover", "--force", "damaged.lcn", "-o", "out.lcn"], damaged_trace, timeline=True)
    if bench.options.program:
        words = ["recover", "--force", "a.lcn.recording", "-o", "out.lcn"]
        yield Subject("recover-recording", "out.lcn", words, killed_recording, timeline=True)
        words = ["run", "-q", "--force", "--trace", "nvtx", "-o", "out.lcn", "--", bench.options.program, "exit"]
        yield Run("run", "out.lcn", words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lacuna", required=True)
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--program", help="ending_program of tests/e2e")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("subject", nargs="*")
    bench = Bench(parser.parse_args())
    try:
        os.mkdir(bench.work)
        if bench.lacuna("generate", "-o", bench.path("in.lcn"), "--steps", "2").returncode != 0:
            sys.exit("no trace could be made")
        if subprocess.run([bench.options.tracer, "--below", bench.work, "--", "true"]).returncode != 0:
            print("processes cannot be traced here")
            sys.exit(77)
        for subject in subjects(bench):
            if not bench.options.subject or subject.name in bench.options.subject:
                bench.test(subject)
        bench.fresh(Subject("none", "none", []))
    finally:
        shutil.rmtree(bench.home, ignore_errors=True)
    sys.exit(1 if bench.problems else 0)


if __name__ == "__main__":
    main()
