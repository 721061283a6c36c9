# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program within a time and a memory."""

import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass

MIB = 1 << 20


@dataclass
class Limits:
    seconds: float = 20
    memory_mib: int = 2048
    output_mib: int = 512


@dataclass
class Ended:
    code: int | None  # none where a signal ended it
    signal: int
    seconds: float
    memory_mib: float
    over: str  # which limit was passed, if any


def memory_now(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / MIB
    except (OSError, IndexError):
        return 0


def limit_child(limits):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output_mib * MIB * 2,) * 2)


def run(words, folder, stdout, stderr, limits, environment):
    begin, over, peak, pause = time.monotonic(), "", 0.0, 0.001
    with open(stdout, "wb") as out, open(stderr, "wb") as err:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True,
                                   preexec_fn=lambda: limit_child(limits))
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, memory_now(process.pid))
        if peak > limits.memory_mib:
            over = over or "memory"
        if time.monotonic() - begin > limits.seconds:
            over = over or "time"
        if over:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)
    process.returncode = 0  # it is reaped
    peak = max(peak, used.ru_maxrss / 1024)
    if not over and peak > limits.memory_mib:
        over = "memory"
    if not over and max(os.path.getsize(stdout), os.path.getsize(stderr)) > limits.output_mib * MIB:
        over = "output"
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    return Ended(code, os.WTERMSIG(status) if code is None else 0, time.monotonic() - begin, peak, over)
