# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Spends known shares of its time in known lines: shares.py SECONDS [fork | spawn | die | beside |
helper]"""

import multiprocessing
import os
import signal
import sys
import threading
import time


def busy(seconds):
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        count += 1  # a busy line
    return count


def sleepy(seconds):
    time.sleep(seconds)  # a sleepy line


def locked(lock, seconds):
    lock.acquire(timeout=seconds)  # a locked line


def spend(seconds):
    lock = threading.Lock()
    lock.acquire()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        busy(0.02)
        sleepy(0.03)
        locked(lock, 0.05)


def worker(seconds):
    spend(seconds)


def helper(seconds):
    import lacuna_frames  # the start-up hook's

    lacuna_frames.work_for_another()
    spend(seconds)


def main():
    seconds, mode = float(sys.argv[1]), (sys.argv + [""])[2]
    if mode in ("fork", "spawn"):
        child = multiprocessing.get_context(mode).Process(target=worker, args=(seconds,))
        child.start()
        child.join()
        return
    if mode == "helper":
        multiprocessing.get_context("fork").Process(target=helper, args=(seconds,)).start()
    if mode == "beside":
        threading.Thread(target=sleepy, args=(seconds,)).start()
    spend(seconds)
    if mode == "die":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
