# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program within a processor time, a time at rest and a memory.

Other programs may use the cores, so the time that a program waits for one counts as neither."""

import os
import resource
import select
import signal
import subprocess
import time
from dataclasses import dataclass

MIB = 1 << 20
TICK = os.sysconf("SC_CLK_TCK")
BETWEEN_COUNTS = 0.2


@dataclass
class Limits:
    seconds: float = 20  # of processor time, all threads together
    rest: float = 60  # in which no thread runs or could
    memory_mib: int = 2048
    output_mib: int = 512


@dataclass
class Ended:
    code: int | None  # none where a signal ended it
    signal: int
    seconds: float  # of processor time
    memory_mib: float
    over: str  # which limit was passed, if any


def memory_now(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / MIB
    except (OSError, IndexError):
        return 0


def processor_time(pid):
    """Threads that are gone included."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / TICK
    except (OSError, IndexError, ValueError):
        return 0


class Activity:
    """How long a program ran or waited for a core. Threads may do so at the same time: it is then more than the time that went by."""

    def __init__(self, pid):
        self.pid, self.threads = pid, {}

    def seconds(self):
        try:
            for thread in os.listdir(f"/proc/{self.pid}/task"):
                with open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                    ran, waited = file.read().split()[:2]
                self.threads[thread] = (int(ran) + int(waited)) / 1e9
        except (OSError, ValueError):  # it ends, or the kernel does not count
            pass
        return max(processor_time(self.pid), sum(self.threads.values()))


def limit(pid, limits):
    """From outside: a function that runs between fork and exec costs a copy of this process's page tables, more than a whole call."""
    try:
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limits.output_mib * MIB * 2,) * 2)
    except ProcessLookupError:
        pass  # it has ended


def forget_peak():
    """A process that this one starts inherits its highest use of memory until now."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass


def run(words, folder, stdout, stderr, limits, environment):
    forget_peak()
    begin, over, peak, pause = time.monotonic(), "", 0.0, 0.002
    with open(stdout, "wb") as out, open(stderr, "wb") as err:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True)
    limit(process.pid, limits)
    activity, counted = Activity(process.pid), begin
    ending = os.pidfd_open(process.pid)
    ended = select.poll()
    ended.register(ending, select.POLLIN)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, memory_now(process.pid))
        if peak > limits.memory_mib:
            over = over or "memory"
        now = time.monotonic()
        if now - counted > BETWEEN_COUNTS:
            counted = now
            if processor_time(process.pid) > limits.seconds:
                over = over or "time"
            elif now - begin > limits.rest and now - begin - activity.seconds() > limits.rest:
                over = over or "rest"
            else:
                activity.seconds()
        if over:
            os.killpg(process.pid, signal.SIGKILL)
        ended.poll(pause * 1000)
        pause = min(0.02, pause * 1.5)
    os.close(ending)
    process.returncode = 0  # it is reaped
    peak = max(peak, used.ru_maxrss / 1024)
    seconds = used.ru_utime + used.ru_stime
    if not over and peak > limits.memory_mib:
        over = "memory"
    if not over and seconds > limits.seconds:
        over = "time"
    if not over and max(os.path.getsize(stdout), os.path.getsize(stderr)) > limits.output_mib * MIB:
        over = "output"
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    return Ended(code, os.WTERMSIG(status) if code is None else 0, seconds, peak, over)
