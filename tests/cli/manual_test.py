# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""manual_test.py LACUNA: each command has a manual page with all that its --help shows."""

import re
import shutil
import subprocess
import sys
import unittest

LACUNA = sys.argv[1]
FORMATTER = shutil.which("groff")


def lacuna(*words):
    return subprocess.run([LACUNA, *words], capture_output=True, text=True, check=False, timeout=60)


def commands():
    return [word for word in lacuna("--complete", "").stdout.split() if not word.startswith("-")]


def shown(page):
    """The page as a reader sees it, without breaks."""
    done = subprocess.run([FORMATTER, "-Kutf8", "-man", "-Tutf8", "-ww", "-P-c"], input=page, capture_output=True, text=True, check=True)
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    return " ".join(text.replace("‐\n", "").replace("−", "-").replace("‐", "-").split()), done.stderr


class ManualPages(unittest.TestCase):
    def test_each_option_of_help_is_in_the_page(self):
        for command in commands():
            page = lacuna("manual", command)
            self.assertEqual((page.returncode, page.stderr), (0, ""), command)
            text = page.stdout.replace("\\-", "-")
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", lacuna(command, "--help").stdout, re.MULTILINE)
            self.assertIn("--help", options)
            for option in options:
                self.assertIn(f"\\fB{option}\\fR", text, command)

    def test_the_page_of_lacuna_lists_the_commands(self):
        text = lacuna("manual").stdout.replace("\\-", "-")
        for command in commands():
            self.assertIn(f"lacuna-{command}\\fR(1)", text)

    @unittest.skipUnless(FORMATTER, "groff is not installed")
    def test_the_formatter_accepts_each_page_and_prints_its_sections(self):
        for command in commands():
            text, complaints = shown(lacuna("manual", command).stdout)
            self.assertEqual(complaints, "", command)
            for section in ("NAME", "SYNOPSIS", "OPTIONS"):
                self.assertIn(section, text, command)
            self.assertEqual("EXIT STATUS" in text, "Exit code" in lacuna(command, "--help").stdout, command)
            self.assertEqual(text.count("Example:"), 0, command)
            self.assertIn(f"lacuna {command}", text)

    @unittest.skipUnless(FORMATTER, "groff is not installed")
    def test_text_that_looks_like_a_request_is_printed(self):
        text, _ = shown(lacuna("manual", "run").stdout)
        self.assertIn(".lcn", text)
        self.assertIn("Example".upper(), text)

    def test_an_unknown_command_is_refused(self):
        done = lacuna("manual", "nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no command 'nothing'", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
