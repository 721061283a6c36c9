# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A command with all that it starts, in a group of processes that can be killed and waited for."""

import ctypes
import os
import pathlib
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
SHARED_MEMORY = "/dev/shm"


def adopt_orphans():
    """Processes whose parent is killed become ours, so that their ends can be seen."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def have_own_shared_memory():
    """Puts a /dev/shm of its own in front of the calling process. False where that is not permitted."""
    libc = ctypes.CDLL(None)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        return False
    return libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0 and libc.mount(b"tmpfs", SHARED_MEMORY.encode(), b"tmpfs", 0, b"size=4g") == 0


def children_of(pid):
    """The children that the first thread of a process started."""
    try:
        return {int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except (FileNotFoundError, ProcessLookupError):
        return set()


class Group:
    def __init__(self, words, folder, environment):
        self.ends = {}  # of each process that was waited for: its exit code, or -signal
        with open(folder / "stderr", "ab") as errors:
            self.process = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True)
        self.pid = self.process.pid

    def kill(self, *pids):
        for pid in filter(None, pids):  # 0 would be ourselves
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_all(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def reap(self):
        """False when nobody is left."""
        try:
            while True:
                pid, status = os.waitpid(-self.pid, os.WNOHANG)
                if pid == 0:
                    break
                self.ends[pid] = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            pass
        self.process.returncode = self.ends.get(self.pid)
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def wait(self, until, seconds):
        """Whether that came to be true in this time."""
        end = time.monotonic() + seconds
        pause = 0.0002
        while not until():
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(pause * 1.3, 0.01)
        return True

    def ended(self, pid, seconds=20):
        return self.wait(lambda: self.reap() is False or pid in self.ends, seconds) and pid in self.ends

    def gone(self, seconds=20):
        return self.wait(lambda: not self.reap(), seconds)
