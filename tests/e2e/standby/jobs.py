# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs on standby, for tests."""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE_S = 60
SIDE_BY_SIDE = 6


class JobTest(unittest.TestCase):
    """A folder of its own; what it starts is ended with it. `lacuna` is the command."""

    lacuna = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="lacuna-standby-test-")
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.temporary)
        self.job = os.path.join(self.folder, "job")
        self.running = []

    def tearDown(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        shutil.rmtree(self.folder)

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
        return dict(kept, TMPDIR=self.temporary, **{name: str(value) for name, value in variables.items()})

    def start(self, command, **variables):
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.running.append(process)
        return process

    def on_standby(self, *program, job=None, rank=None, world=None, options=()):
        variables = {"RANK": rank, "WORLD_SIZE": world}
        return self.start(
            [self.lacuna, "run", "--standby", job or self.job, *options, "--", *program],
            **{name: value for name, value in variables.items() if value is not None},
        )

    def call(self, *words):
        return subprocess.run(
            [self.lacuna, *map(str, words)], cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=PATIENCE_S
        )

    def trigger(self, *words):
        return self.call("trigger", "--job", self.job, *words)

    def recorded(self, *words):
        """The files of a trigger that succeeds."""
        done = self.trigger(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def wait_for(self, condition, what):
        until = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.02)

    def rank_files(self):
        return [name for name in os.listdir(self.job) if name.startswith("rank-")] if os.path.isdir(self.job) else []

    def wait_for_ranks(self, count):
        self.wait_for(lambda: len(self.rank_files()) >= count, f"{count} ranks on standby")

    def process_of(self, rank):
        name = next(name for name in self.rank_files() if name.startswith(f"rank-{rank}-"))
        with open(os.path.join(self.job, name), encoding="utf-8") as file:
            return int(re.search(r"^process.pid (\d+)$", file.read(), re.M).group(1))

    def rows(self, trace, statement):
        done = self.call("query", trace, statement, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_gone(self):
        """A job that has ended leaves its recordings and nothing else."""
        left = [name for name in os.listdir(self.job) if not re.fullmatch(r"capture-\d+\.rank\d+\.lcn|request", name)]
        self.assertEqual(left, [])
        self.assertEqual([name for name in os.listdir(self.temporary) if name.startswith("lacuna")], [])


def run_case(test):
    result = unittest.TestResult()
    test.run(result)
    return result


def main():
    """Runs the cases of the program side by side, for they wait most of the time."""
    tests = [test for group in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]) for test in group]
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        results = list(pool.map(run_case, tests))
    failures = [failure for result in results for failure in result.failures + result.errors]
    for test, trace in failures:
        print(f"FAILED: {test}\n{trace}")
    print(f"{len(tests) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures or not tests else 0)
