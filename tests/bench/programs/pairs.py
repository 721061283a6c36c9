# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Compares two trainings that take turns of some tenths of a second: while one trains, the other and its workers are
stopped. A machine may compute quicker or slower for seconds or minutes; so both have the same share of it."""

import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

TURN_S = 0.3
TURN_ITERATIONS = 3
WARM_UP_S, WARM_UP_ITERATIONS = 1, 10
ROUNDS = 16
END_S = 60  # for a command; a recorder has a file to write


class TrainingFailed(Exception):
    """A training ended before its turns did."""


class Turns:
    """In the training process: ends each turn behind an iteration, with the sum of its iterations, and waits for the
    next one. The first turn is warm-up, of so many iterations at least."""

    def __init__(self, answer, wake, warm_up=WARM_UP_ITERATIONS):
        self.answer, self.wake, self.warm_up = answer, wake, warm_up
        self.warm = False
        self.wait()

    def wait(self):
        if not os.read(self.wake, 1):
            sys.exit()
        self.began_ns = time.monotonic_ns()
        self.iterations = 0

    def over(self, _):
        """Called behind each iteration; the parent ends the process."""
        self.iterations += 1
        ns = time.monotonic_ns() - self.began_ns
        seconds, iterations = (TURN_S, TURN_ITERATIONS) if self.warm else (WARM_UP_S, self.warm_up)
        if ns >= seconds * 1e9 and self.iterations >= iterations:
            self.warm = True
            os.write(self.answer, f"{ns} {self.iterations}\n".encode())
            self.wait()
        return False


class Side:
    """One of the two trainings, in a process group of its own with its workers. It is a function that takes a folder
    and Turns, or the words of a command. A command gets the descriptors of its turns with --turns."""

    def __init__(self, train):
        self.is_command = not callable(train)
        self.folder = tempfile.mkdtemp()
        answer, theirs = os.pipe()
        wake, self.wake = os.pipe()
        self.answers = os.fdopen(answer, encoding="utf-8")
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            try:
                if not self.is_command:
                    train(self.folder, Turns(theirs, wake))
                for descriptor in (theirs, wake):
                    os.set_inheritable(descriptor, True)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.execvp(train[0], [*train, "--turns", f"{wake},{theirs}"])
            except BaseException:  # noqa: BLE001  the process ends here, whatever it was
                traceback.print_exc()
            os._exit(1)
        os.close(theirs)
        os.close(wake)
        try:
            os.setpgid(self.pid, self.pid)
        except PermissionError:  # the child was quicker
            pass

    def turn(self):
        """The time and number of the iterations of one turn."""
        os.killpg(self.pid, signal.SIGCONT)
        os.write(self.wake, b"g")
        answer = self.answers.readline().split()
        if not answer:
            raise TrainingFailed("a training failed")
        os.killpg(self.pid, signal.SIGSTOP)
        return int(answer[0]), int(answer[1])

    def has_ended(self):
        """Whether a command ends by itself, for there are no more turns."""
        until = time.monotonic() + END_S
        os.killpg(self.pid, signal.SIGCONT)
        while self.is_command and time.monotonic() < until:
            if os.waitpid(self.pid, os.WNOHANG) != (0, 0):
                return True
            time.sleep(0.01)
        return False

    def end(self):
        os.close(self.wake)
        if not self.has_ended():
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.answers.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def compare(first, second, rounds=None):
    """The turns of both: a list of [time, iterations] for each. `rounds` is their number, or a function of the turns so far
    that is true when they are enough."""
    enough = rounds if callable(rounds) else lambda turns: len(turns[0]) >= (rounds or ROUNDS)
    sides = Side(first), Side(second)
    try:
        for side in sides:
            side.turn()
        turns = ([], [])
        while not enough(turns):
            for at in (0, 1) if len(turns[0]) % 2 == 0 else (1, 0):
                turns[at].append(sides[at].turn())
        return turns
    finally:
        for side in sides:
            side.end()
