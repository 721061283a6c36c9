#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that --help of every command fits terminals of 60, 80 and 120 columns, with the same words in each, and breaks
no sentence where the next word still fits."""
import os
import subprocess
import sys


def lacuna(columns, *words):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, env=dict(os.environ, COLUMNS=str(columns)))
    if done.returncode != 0 or done.stderr:
        sys.exit(f"lacuna {' '.join(words)}: {done.returncode} {done.stderr}")
    return done.stdout


def commands():
    listed = lacuna(120, "--help").partition("Subcommands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]


def early_breaks(text, columns):
    """The lines of sentences that end before they are full, within a sentence."""
    lines = text.splitlines()
    for line, following in zip(lines, lines[1:]):
        is_sentence = line[:1].isalpha() and not line.endswith((".", ":")) and not line.startswith("Example")
        if is_sentence and following[:1].islower() and len(line) + 1 + len(following.split()[0]) <= columns:
            yield line


def main():
    names = commands()
    if len(names) < 15:
        sys.exit(f"only these commands are listed: {names}")
    wrong = []
    for words in [[]] + [[name] for name in names]:
        wide = lacuna(120, *words, "--help")
        for columns in (60, 80, 120):
            text = lacuna(columns, *words, "--help")
            if text.split() != wide.split():
                wrong.append(f"{words} at {columns} columns has other words than at 120")
            wrong += [f"{words} at {columns} columns: {line!r}" for line in text.splitlines() if len(line) > columns]
            wrong += [f"{words} at {columns} columns has two empty lines" for _ in [text] if "\n\n\n" in text]
            wrong += [f"{words} at {columns} columns breaks early: {line!r}" for line in early_breaks(text, columns)]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
