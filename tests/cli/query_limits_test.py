#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs `lacuna query` from outside: a time limit ends what does not end by itself, Ctrl-C ends it as any program, and no statement runs code."""
import os
import signal
import subprocess
import sys
import time

LACUNA, TRACE = sys.argv[1:3]
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
# One call of a function, which takes hours and in which SQLite looks at no clock.
ONE_STEP = "SELECT instr(replace(printf('%32000000d', 1), ' ', 'a'), replace(printf('%16000000d', 1), ' ', 'a') || 'b')"
FAILED = []


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print("wrong:", what)


def query(*words):
    done = subprocess.run([LACUNA, "query", TRACE, *words], capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


def check_limits():
    code, out, error = query(ENDLESS, "--time-limit", "0.3")
    check((code, out) == (1, ""), "an endless query ends with an error")
    check("stopped after 0.3 s, the time limit of a query; raise it with --time-limit SECONDS" in error, "the limit is named")
    code, _, error = query(ONE_STEP, "--time-limit", "0.2")
    check(code == 1 and "one step of the query runs beyond the time limit" in error, "a long step ends too")
    check(query("SELECT 1", "--time-limit", "0")[0] == 0, "0 is no limit")
    check(query("SELECT 1", "--time-limit", "nan")[0] == 2, "a limit is a number")


def check_temporary_files():
    sort = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 50000) SELECT count(*) FROM (SELECT DISTINCT printf('%0200d', x) FROM c)"
    code, out, error = query(sort, "--temp-limit", "0.002")
    check((code, out) == (1, ""), "a query beyond its temporary files ends with an error")
    check("stopped at 2 MiB of temporary files" in error and "raise it with --temp-limit GIB (0 is none)" in error, f"the limit is named: {error}")
    without = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "SQLITE_TMPDIR")}
    done = subprocess.run([LACUNA, "query", TRACE, sort], capture_output=True, text=True, timeout=100, env=without)
    check(done.returncode == 0 and "50000" in done.stdout, f"the sandbox leaves SQLite its own folder: {done.stderr}")
    for limit in ("0", "1"):
        code, out, error = query(sort, "--temp-limit", limit)
        check(code == 0 and "50000" in out, f"within --temp-limit {limit} it has its answer: {error}")
    check(query("SELECT 1", "--temp-limit", "nan")[0] == 2, "a limit of files is a number")
    check(query("SELECT 1", "--temp-limit", "2e9")[0] == 2, "no disk is that large")


def check_rows():
    three = "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3"
    check(query(three, "--csv", "--rows", "3") == (0, "n\n1\n2\n3\n", ""), "a result that has as many rows as --rows is complete")
    code, out, error = query(three, "--csv", "--rows", "2")
    check((code, out) == (0, "n\n1\n2\n") and "there are more rows than the first 2" in error, f"a longer one is cut with a warning: {error}")
    check(query(three, "--csv", "--rows", "0")[1].count("\n") == 4, "0 is all rows")
    endless = ENDLESS.replace("count(*)", "x")
    check(query(endless, "--csv", "--rows", "1")[:2] == (0, "x\n1\n"), "rows that nobody asked for are not computed")


def check_interrupt():
    running = subprocess.Popen([LACUNA, "query", TRACE, ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, error = running.communicate(timeout=20)
    check(running.returncode == -signal.SIGINT, "Ctrl-C ends the program as the signal does")
    check("SQL: interrupted" in error, "an interrupted query says so")


def check_no_code_runs():
    code, _, error = query("SELECT fts3_tokenizer('simple',X'4141414141414141'), (SELECT count(*) FROM pragma_table_info('fts3tokenize'))")
    check(code == 1 and "may not call the function fts3_tokenizer()" in error, "no tokenizer is taken by its address")


check_limits()
check_temporary_files()
check_rows()
check_interrupt()
check_no_code_runs()
print("failed:" if FAILED else "passed", *FAILED)
sys.exit(1 if FAILED else 0)
