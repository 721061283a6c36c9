#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs `lacuna run` in a terminal and checks the screen: the program's output, and the line of `lacuna run` apart from it.
Usage: live_line_test.py LACUNA"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.dont_write_bytecode = True
import pseudo_terminal  # noqa: E402

LACUNA = None
ROWS, COLUMNS = 8, 60


class Screen:
    """As much of a VT100 as programs and `lacuna run` use here."""

    SEQUENCE = re.compile(r"\x1b(?:\[([\d;?]*)([A-Za-z])|([78D]))")

    def __init__(self):
        self.rows = [""] * ROWS
        self.row = self.column = 0
        self.top, self.bottom = 0, ROWS - 1
        self.saved = (0, 0)
        self.scrolled = []  # off the top

    def down(self):
        if self.row == self.bottom:
            self.scrolled.append(self.rows.pop(self.top))
            self.rows.insert(self.bottom, "")
        else:
            self.row = min(self.row + 1, ROWS - 1)

    def put(self, character):
        line = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = line[: self.column] + character + line[self.column + 1 :]
        self.column += 1

    def control(self, arguments, letter):
        numbers = [int(number) for number in arguments.split(";") if number.isdigit()]
        first = numbers[0] if numbers else 1
        if letter == "A":
            self.row = max(self.row - first, self.top if self.row >= self.top else 0)
        elif letter == "H":
            self.row, self.column = first - 1, (numbers[1] if len(numbers) > 1 else 1) - 1
        elif letter == "K":
            self.rows[self.row] = "" if numbers == [2] else self.rows[self.row][: self.column]
        elif letter == "r":
            self.top, self.bottom = (numbers[0] - 1, numbers[1] - 1) if numbers else (0, ROWS - 1)
            self.row = self.column = 0

    def escape(self, name):
        if name == "D":
            self.down()
        elif name == "7":
            self.saved = (self.row, self.column)
        else:
            self.row, self.column = self.saved

    def feed(self, text):
        at = 0
        while at < len(text):
            found = self.SEQUENCE.match(text, at)
            if found:
                self.escape(found[3]) if found[3] else self.control(found[1], found[2])
                at = found.end()
                continue
            if text[at] == "\r":
                self.column = 0
            elif text[at] == "\n":
                self.down()
            else:
                self.put(text[at])
            at += 1

    def all_lines(self):
        return [line.rstrip() for line in self.scrolled + self.rows]


class LiveLine(unittest.TestCase):
    def run_program(self, source, rows=ROWS, **variables):
        """What the terminal shows at the end, and what it was sent."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = temporary.name
        ours, theirs = pseudo_terminal.opened(rows, COLUMNS)
        environment = dict(os.environ, TERM="xterm", **variables)
        program = subprocess.Popen([LACUNA, "run", "--no-report", "-o", os.path.join(folder, "out.lcn"), "--", sys.executable, "-c",
                                    textwrap.dedent(source)], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        sent = pseudo_terminal.all_from(ours)
        self.assertEqual(program.wait(), 0, sent)
        screen = Screen()
        screen.feed(sent.decode())
        return screen, sent.decode()

    def test_the_program_s_output_stays_whole(self):
        screen, sent = self.run_program("""
            import sys, time
            for number in range(12):
                print(f"begin {number} ", end="", flush=True)
                time.sleep(0.15)
                print(f"end {number}", flush=True)
            """)
        self.assertIn("lacuna: recording", sent)
        lines = screen.all_lines()
        first = lines.index("begin 0 end 0")
        self.assertEqual(lines[first : first + 12], [f"begin {number} end {number}" for number in range(12)])
        self.assertFalse([line for line in lines if "recording 0" in line or "recording 1" in line], "the line is gone at the end")
        self.assertEqual((screen.top, screen.bottom), (0, ROWS - 1), "all rows scroll again")

    def test_it_stays_on_the_last_row_while_the_program_writes(self):
        _, sent = self.run_program("""
            import time
            for number in range(14):
                print(f"line {number}", flush=True)
                time.sleep(0.1)
            """)
        middle = sent[: sent.rindex("lacuna: recording") + 40]
        screen = Screen()
        screen.feed(middle)
        self.assertIn("lacuna: recording", screen.rows[-1])
        self.assertFalse([line for line in screen.scrolled + screen.rows[:-1] if "lacuna: recording" in line])

    def test_a_program_with_a_progress_bar_has_the_terminal_to_itself(self):
        for module, holder, name in (("tqdm.std", "tqdm", "status_printer"), ("rich.live", "Live", "start")):
            with tempfile.TemporaryDirectory() as packages:
                package, _, part = module.partition(".")
                os.mkdir(os.path.join(packages, package))
                with open(os.path.join(packages, package, "__init__.py"), "w", encoding="utf-8"):
                    pass
                with open(os.path.join(packages, package, part + ".py"), "w", encoding="utf-8") as file:
                    file.write(f"class {holder}:\n    @staticmethod\n    def {name}(*_):\n        return 'drawn'\n")
                screen, sent = self.run_program(f"""
                    import time
                    from {module} import {holder}
                    time.sleep(1.2)
                    print({holder}.{name}(1), flush=True)
                    time.sleep(1.5)
                    print("BAR", flush=True)
                    time.sleep(1.2)
                    """, PYTHONPATH=packages)
                self.assertIn("lacuna: recording", sent.partition("drawn")[0], "importing it draws no bar")
                self.assertNotIn("lacuna: recording", sent.partition("BAR")[2], module)
                self.assertIn("drawn", screen.all_lines())

    def test_a_small_terminal_has_none(self):
        _, sent = self.run_program("import time; time.sleep(1.2)", rows=3)
        self.assertNotIn("lacuna: recording", sent)

    def test_a_stopped_program_leaves_the_terminal_as_it_was(self):
        _, sent = self.run_program(f"""
            import os, subprocess, sys, time
            time.sleep(1.2)
            subprocess.Popen([sys.executable, "-c", "import os, time; time.sleep(1); os.kill({{}}, {int(signal.SIGCONT)})".format(os.getpid())])
            print("STOPPING", flush=True)
            os.kill(os.getpid(), {int(signal.SIGSTOP)})
            print("ON", flush=True)
            time.sleep(1.2)
            """)
        between = sent.partition("STOPPING")[2].partition("ON")[0]
        self.assertIn("\x1b[r", between)
        self.assertIn("lacuna: recording", sent.partition("ON")[2])


if __name__ == "__main__":
    LACUNA = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
