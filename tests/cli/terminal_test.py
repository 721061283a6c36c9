#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs commands in terminals of 60, 80 and 120 columns and checks that no line is longer, and that a narrow terminal shows
the words of a wide one. Where standard output is no terminal, each line of text stays one line."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import pseudo_terminal  # noqa: E402

LACUNA = sys.argv[1]
WIDTHS = (60, 80, 120)
# Their tables leave columns out in a narrow terminal, and their names are shortened there.
WITH_NAMES = ("diff", "info", "query", "report")


def in_terminal(columns, words):
    """The text that a command prints in a terminal; its exit code."""
    ours, theirs = pseudo_terminal.opened(50, columns)
    program = subprocess.Popen([LACUNA, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, NO_COLOR="1"))
    os.close(theirs)
    return pseudo_terminal.all_from(ours).decode().replace("\r\n", "\n"), program.wait()


def commands(folder):
    traces = [str(folder / f"{name}.lcn") for name in ("before", "after")]
    for seed, trace in enumerate(traces):
        subprocess.run([LACUNA, "generate", "-o", trace, "--steps", "8", "--seed", str(seed + 1)], check=True, stdout=subprocess.DEVNULL)
    before, after = traces
    return [["--help"], ["report", "--list-findings"], ["report", "--list-sections"], ["whatif", "--list"], ["doctor"],
            ["info", before], ["info", before, "--encodings"], ["report", before], ["report", before, "--section", "all"],
            ["report", before, "--explain", "1"],
            ["report", before, "--cause", "launch,host_work,unknown"], ["whatif", before, "--explain", "host*0.5"], ["diff", before, after],
            ["check", after, "--baseline", before], ["query", before, "SELECT * FROM kernel LIMIT 3"],
            ["query", before, "SELECT name, count(*) AS n FROM kernel GROUP BY 1"]]


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        for words in commands(pathlib.Path(name)):
            texts = {}
            for columns in WIDTHS:
                texts[columns], code = in_terminal(columns, words)
                if not texts[columns].strip() or code not in (0, 1):
                    wrong.append(f"{words} at {columns} columns: exit code {code}, {len(texts[columns])} characters")
                wrong += [f"{words} at {columns} columns: {line!r}" for line in texts[columns].splitlines() if len(line) > columns]
            # Paths may be longer than a line, and break between their parts.
            if words[0] not in WITH_NAMES and len({text.replace(" ", "").replace("\n", "") for text in texts.values()}) != 1:
                wrong.append(f"{words}: other words in a narrow terminal")
        piped = subprocess.run([LACUNA, "report", "--list-findings"], stdout=subprocess.PIPE, text=True, check=True).stdout
        if max(map(len, piped.splitlines())) <= WIDTHS[-1]:
            wrong.append("the list of findings is broken into lines where no terminal reads it")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
