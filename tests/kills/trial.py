# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""One kill: a recorded program, somebody who dies, and what a user does afterwards."""

import collections
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import judge
import ledger
import processes

LINES = 2048
OLD = b"older file\n" * 100
CODE = 37
NAME = "out.lcn"

# options: of lacuna run. words: of kill_program. lossy: events may be dropped, and are counted then.
Kind = collections.namedtuple("Kind", "name options words lossy ring silent", defaults=(False, False, False))

KINDS = [
    Kind("threads", "--trace nvtx", "threads=3"),
    Kind("deep", "--trace nvtx,counters", "threads=2 deep=40"),
    Kind("paced", "--trace nvtx --memory-limit 1M", "threads=2 pause=400", lossy=True),
    Kind("samples", "--trace nvtx,counters,samples", "threads=2 pause=100"),
    Kind("timer", "--trace nvtx,samples --sampler timer", "threads=2 pause=50 deep=3"),
    Kind("lives", "--trace nvtx", "threads=3 life=60 deep=1 pause=100"),
    Kind("children", "--trace nvtx", "threads=1 children=3 life=150 deep=2 pause=100"),
    Kind("drops", "--trace nvtx --memory-limit 1M", "threads=3 deep=2", lossy=True),
    Kind("ring", "--trace nvtx --ring 1M --dump-on crash", "threads=2 deep=2 pause=20", lossy=True, ring=True),
    Kind("static", "--trace nvtx,counters", "threads=2", silent=True),
]
TARGETS = ["program", "supervisor", "both", "tree"]


class Plan:
    """All that is chosen by chance in the trial of this number."""

    def __init__(self, seed, number, kinds):
        rng = self.rng = random.Random(f"{seed}-{number}")
        self.kind = rng.choice(kinds)
        targets = TARGETS + (["child"] if "children=" in self.kind.words else [])
        self.target = rng.choice(targets)
        self.moment = rng.choices(["start", "running", "end", "removal"], [15, 65, 10, 10])[0]
        if self.target in ("program", "child"):
            self.moment = "running"
        # With time the recorder and the supervisor come to different places, so it is spread over all magnitudes.
        self.steps = int(10 ** rng.uniform(0, 5))
        self.delay = rng.uniform(0, 0.06)
        self.old = rng.random() < 0.5
        self.code = CODE if self.kind.ring else rng.choice([0, CODE])
        self.first = rng.random() < 0.5  # of two, who is killed first
        self.after = rng.choice(["stop", "kill"])
        self.lives_on = rng.uniform(0, 0.02)
        self.asks_early = rng.random() < 0.2  # to recover what is recorded yet
        self.kills_recovery = rng.uniform(0, 0.03) if rng.random() < 0.25 else None
        self.replaces = rng.random() < 0.3

    def __str__(self):
        return f"{self.kind.name}, {self.target} killed at the {self.moment}" if self.moment != "running" else f"{self.kind.name}, {self.target} killed"


class Outcome:
    def __init__(self, plan):
        self.plan, self.problems, self.events, self.dropped, self.how = plan, [], 0, 0, ""


class Trial:
    def __init__(self, setting, plan):
        self.setting, self.plan, self.outcome = setting, plan, Outcome(plan)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="lacuna-kills-"))
        self.tmp, self.work = self.home / "tmp", self.home / "work"
        self.tmp.mkdir()
        self.work.mkdir()
        self.out, self.recording = self.work / NAME, self.work / f"{NAME}.recording"
        self.environment = {**os.environ, "TMPDIR": str(self.tmp), "LC_ALL": "C.UTF-8"}
        self.ledger = ledger.Ledger(self.home / "ledger", LINES)
        self.killed = set()

    def complain(self, text):
        self.outcome.problems.append(text)

    def lacuna(self, *words):
        return subprocess.run([self.setting.lacuna, *map(str, words)], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60)

    def run(self):
        try:
            self.start()
            self.until_moment()
            self.strike()
            self.finish()
        except subprocess.TimeoutExpired as error:
            self.complain(f"{error.cmd[1]} takes more than {error.timeout:.0f} s")
        finally:
            self.group.kill_all()
            self.group.gone()
        if not self.outcome.problems:
            self.leave_nothing()
        return self.outcome

    def start(self):
        plan = self.plan
        words = [self.setting.lacuna, "run", "-q", *plan.kind.options.split(), "-o", NAME]
        if plan.old and not plan.kind.ring:
            self.out.write_bytes(OLD)
            words.append("--force")
        program = self.setting.silent if plan.kind.silent else self.setting.program
        words += ["--", program, str(self.home / "ledger"), *plan.kind.words.split(), f"code={plan.code}"]
        self.began = time.monotonic_ns()
        self.group = processes.Group(words, self.work, self.environment)

    def until_moment(self):
        plan = self.plan
        if plan.moment == "start":
            return time.sleep(plan.delay)
        enough = lambda: self.ledger.steps() >= plan.steps or not self.group.reap()
        if not self.group.wait(lambda: self.program() or not self.group.reap(), 20):
            self.complain("the program does not start")
        self.group.wait(enough, 2)
        if plan.moment in ("end", "removal"):
            self.ledger.stop()
        if plan.moment == "removal":
            self.until_removal()
        elif plan.moment == "end":
            time.sleep(plan.delay / 4)

    def until_removal(self):
        """The first file of the recording goes when the trace is whole."""
        folders = [str(self.recording)] + [os.path.realpath(self.recording / "shm")] * (self.recording / "shm").is_symlink()
        files = [os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
        files = [path for path in files if not path.endswith((".new", "/checkpoint", "/trace")) and "/open-" not in path]
        end = time.monotonic() + 5
        while all(map(os.path.lexists, files)) and time.monotonic() < end:
            pass
        time.sleep(max(0, self.plan.delay - 0.03) / 30)

    def program(self):
        """The first process of the program, or 0 before the ledger has it."""
        lines = self.ledger.all()
        parents = {pid for pid, _, _ in lines}
        children = processes.children_of(self.group.pid)
        return next((pid for pid in parents if pid in children), 0)

    def strike(self):
        plan, supervisor = self.plan, self.group.pid
        self.main = self.program()
        if plan.target == "tree":
            self.group.kill_all()
        elif plan.target == "supervisor":
            self.group.kill(supervisor)
        elif plan.target == "both" and self.main:
            self.group.kill(*sorted([supervisor, self.main], reverse=plan.first))
        elif plan.target == "both":
            self.group.kill(supervisor)
        elif plan.target == "child":
            self.group.kill(*sorted(processes.children_of(self.main))[:1])
        else:
            self.group.kill(self.main)
        self.struck = time.monotonic_ns()

    def finish(self):
        if self.plan.target in ("program", "child"):
            self.end_survived()
        else:
            self.end_orphaned()

    # The supervisor lives: it ends as the program does, and the trace is there.
    def end_survived(self):
        time.sleep(self.plan.lives_on)
        self.ledger.stop()
        if not self.group.ended(self.group.pid) or not self.group.gone():
            return self.complain("lacuna run does not come to its end")
        wanted = -9 if self.plan.target == "program" else self.plan.code
        got = self.group.ends[self.group.pid]
        if got != wanted:
            self.complain(f"lacuna run ends with {got}, the program with {wanted}")
        self.outcome.how = "lacuna run"
        self.judge(self.written())

    def written(self):
        """The trace that lacuna run writes."""
        return self.work / "out.dump-1.lcn" if self.plan.kind.ring else self.out

    # It does not: the program goes on alone, and somebody recovers what is there.
    def end_orphaned(self):
        plan = self.plan
        if plan.asks_early and plan.target == "supervisor":
            self.ask_early()
        time.sleep(plan.lives_on)
        if plan.after == "kill":
            self.group.kill_all()
        self.ledger.stop()
        if not self.group.gone():
            return self.complain("the program does not come to its end")
        if plan.target == "supervisor" and plan.after == "stop" and self.main and self.group.ends.get(self.main) != plan.code:
            self.complain(f"without its supervisor the program ends with {self.group.ends.get(self.main)}, not with {plan.code}")
        if self.group.ends.get(self.group.pid) != -9:
            self.outcome.how = "had ended"  # before the kill
            return self.judge(self.written())
        self.recover()

    def ask_early(self):
        lines = self.ledger.all()
        done = self.lacuna("recover", self.recording, "-o", "early.lcn")
        living = self.main and self.group.reap() and self.main not in self.group.ends and not self.plan.kind.silent
        if living and lines and sum(steps for _, _, steps in lines) > 0 and done.returncode == 0:
            self.complain("a recording is recovered while its program records")
        if done.returncode == 0:
            (self.work / "early.lcn").rename(self.work / "out.recovered.lcn")

    def recover(self):
        plan = self.plan
        made = self.work / "out.recovered.lcn"
        if not self.recording.exists():
            return self.judge_without_recording(made)
        words = ["recover", str(self.recording)]
        if plan.replaces:
            words += ["-o", NAME, "--force"]
            made = self.out
        if plan.kills_recovery is not None:
            recovery = processes.Group([self.setting.lacuna, *words], self.work, self.environment)
            time.sleep(plan.kills_recovery)
            recovery.kill_all()
            recovery.gone()
            if not self.recording.exists():
                self.outcome.how = "recover, killed too late"
                return self.judge(made)
        done = self.lacuna(*words)
        if done.returncode == 0:
            self.outcome.how = "recover" if plan.kills_recovery is None else "recover, killed once"
            return self.judge(made)
        self.judge_unrecovered(done, made)

    def judge_without_recording(self, made):
        """It had not been made, or was removed already."""
        self.outcome.how = "no recording"
        if made.exists():
            return self.judge(made)
        written = self.written()
        if written.exists() and written.read_bytes() != OLD:
            return self.judge(written)
        if self.ledger.steps() > 0 and not self.plan.kind.silent:
            self.complain("the program has emitted, and there is neither a trace nor a recording")

    def judge_unrecovered(self, done, made):
        """recover may fail only where the recording had not begun, or its trace is whole already. The user then deletes
        the recording."""
        complaint = done.stderr.decode(errors="replace").strip()
        self.outcome.how = "not recovered"
        if done.returncode != 1 or "lacuna: error:" not in complaint:
            self.complain(f"recover ends with {done.returncode}: {complaint}")
        link = self.recording / "shm"
        if link.is_symlink():
            shutil.rmtree(os.readlink(link), ignore_errors=True)
        shutil.rmtree(self.recording)
        if self.ledger.steps() == 0 or self.plan.kind.silent:
            return
        complete = next((path for path in (made, self.written()) if path.exists() and self.is_complete(path)), None)
        if complete is None:
            return self.complain(f"nothing can be recovered: {complaint}")
        self.judge(complete)

    def is_complete(self, path):
        return path.read_bytes() != OLD and self.lacuna("info", "--verify", path).returncode == 0

    def threads(self):
        """In flight is what a thread of a killed process did; the others have ended by themselves."""
        return [judge.Thread(pid, tid, steps, self.group.ends.get(pid, -9) < 0) for pid, tid, steps in self.ledger.all()]

    def judge(self, trace):
        plan, deep = self.plan, next((int(word[5:]) for word in self.plan.kind.words.split() if word.startswith("deep=")), 0)
        if not trace.exists():
            return self.complain(f"{trace.name} is not there ({self.outcome.how})")
        if self.out.exists() and self.out != trace and self.out.read_bytes() != OLD and self.lacuna("info", self.out).returncode != 0:
            self.complain(f"{NAME} is neither the older file nor a trace")
        there = judge.read(self.setting.lacuna, trace, self.environment)
        if isinstance(there, str):
            return self.complain(there)
        threads = [] if plan.kind.silent else self.threads()
        check = judge.lossy if plan.kind.lossy else judge.complete
        self.outcome.problems += check(threads, there, deep)[:5]
        self.outcome.events = sum(sum(len(numbers) for numbers in rows.values()) for rows in there.threads.values())
        self.outcome.dropped = sum(there.dropped.values())
        if there.start is not None and not self.began <= there.start <= there.end <= time.monotonic_ns():
            self.complain(f"moments from {there.start} to {there.end}, the trial began at {self.began}")
        if there.dropped and not plan.kind.lossy:
            self.complain(f"{there.dropped} dropped")

    def leave_nothing(self):
        """In the folders of the trial and in shared memory."""
        if self.setting.own_memory:
            self.lacuna_cleans()
        allowed = {NAME, "out.dump-1.lcn", "out.recovered.lcn", "stderr"}
        left = sorted({path.name for path in self.work.iterdir()} - allowed) + [f"TMPDIR/{path.name}" for path in self.tmp.iterdir()]
        left += [f"{processes.SHARED_MEMORY}/{path.name}" for path in self.shared()]
        if left:
            self.complain(f"left over ({self.outcome.how}): {', '.join(left)}")

    def lacuna_cleans(self):
        """A folder that had no owner yet counts as left behind after a minute."""
        before = time.time() - 120
        for path in [*self.shared(), *self.tmp.iterdir()]:
            os.utime(path, (before, before))
        self.lacuna("doctor", "--clean")

    def shared(self):
        found = list(pathlib.Path(processes.SHARED_MEMORY).glob("lacuna-*"))
        return found if self.setting.own_memory else [path for path in found if self.names_us(path)]

    def names_us(self, path):
        try:
            return str(self.home) in (path / "owner").read_text()
        except OSError:
            return False

    def close(self):
        self.ledger.close()
        for path in self.shared():
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)
