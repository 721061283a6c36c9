# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The outcome of each setting of `lacuna run --set`: the lines that are printed and recorded at the end."""

import os
import sys

APPLIED, SAME, REFUSED = "applied", "same", "refused"
_HERE = os.path.dirname(os.path.abspath(__file__))


def plain(text):
    """One line without tabs, of bounded length."""
    return " ".join(str(text).split())[:300]


class Ledger:
    """Counts where each setting was applied, was so already, or was refused. A line of the file gives the count so far.
    It is written when the count reaches a power of two and when the program ends, so a killed program leaves one,
    too."""

    def __init__(self, path=None):
        self.path = path
        self.counts = {}
        self.process = os.getpid()

    def note(self, setting, outcome, thing="", was="", site="", why=""):
        if os.getpid() != self.process:
            return  # a forked worker, whose parent has noted it
        key = tuple(plain(part) for part in (setting, outcome, thing, was, site, why))
        count = self.counts.get(key, 0) + 1
        self.counts[key] = count
        if count & (count - 1) == 0:
            self.write(key, count)

    def write(self, key, count):
        if self.path is None:
            return
        setting, outcome, *rest = key
        line = "\t".join([str(self.process), setting, outcome, str(count), *rest]) + "\n"
        try:
            with open(self.path, "a", encoding="utf-8", errors="replace") as file:
                file.write(line)
        except OSError:
            self.path = None  # the recording is gone

    def close(self):
        if os.getpid() != self.process:
            return
        for key, count in self.counts.items():
            if count & (count - 1):
                self.write(key, count)
            if self.path is None:
                self.print_outcome(key, count)

    @staticmethod
    def print_outcome(key, count):
        setting, outcome, thing, was, site, why = key
        words = {APPLIED: f"(was {was})", SAME: "(was so already)", REFUSED: f"left out: {why}"}[outcome]
        place = f" ({site})" if site else ""
        print(f"lacuna: set {setting} {words}: {count} {thing}{place}", file=sys.stderr)


def belongs_to(file, folder):
    return file.startswith(folder + os.sep)


def site(torch):
    """Where the program is now: its own file and line, or the library's that called PyTorch."""
    skipped = (_HERE, os.path.dirname(os.path.abspath(getattr(torch, "__file__", "") or _HERE)))
    library, frame = "", sys._getframe(1)
    while frame is not None:
        file = os.path.abspath(frame.f_code.co_filename)
        if not frame.f_code.co_filename.startswith("<") and not any(belongs_to(file, folder) for folder in skipped):
            place = f"{short(file)}:{frame.f_lineno}"
            if "site-packages" not in file and "dist-packages" not in file:
                return place
            library = library or place
        frame = frame.f_back
    return library


def short(file):
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


class Setting:
    """One setting with its value, and the ledger's lines about it."""

    def __init__(self, name, value, ledger):
        self.name = name
        self.value = value
        self.ledger = ledger
        self.text = f"{name}={value}"

    def applied(self, thing, was="", place=""):
        self.ledger.note(self.text, APPLIED, thing, was, place)

    def same(self, thing, place=""):
        self.ledger.note(self.text, SAME, thing, "", place)

    def refused(self, thing, why, place=""):
        self.ledger.note(self.text, REFUSED, thing, "", place, why)

    @property
    def on(self):
        return self.value == "on"
