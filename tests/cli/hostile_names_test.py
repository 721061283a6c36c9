#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands on traces whose texts do harm. Every JSON output is JSON by RFC 8259 in UTF-8, no name reaches a terminal as anything
but text, no field of a CSV file is a formula, and a page runs no script."""
import csv
import html.parser
import io
import json
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile

LACUNA, MAKER = sys.argv[1:3]
FAILED = []
# What Kineto's writer never writes, as a file from elsewhere may: numbers of other languages, names with controls, broken escapes.
KINETO = b"""{"schemaVersion": 1, "trace_id": "a\\x1b[2J", "odd": {"n": 1., "list": [+7, NaN]}, "deviceProperties": [], "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0, "args": {"name": "\\u001b[31mred \\u202e", "n": NaN}},
{"ph": "X", "cat": "cpu_op", "name": "op \\u001b]0;x\\u0007", "pid": 7, "tid": 8, "ts": 1.5, "dur": 20, "args": {"a": 1., "b": +7, "c": NaN, "d": [1., 01],
 "e": {"f": .5}, "g": 0x1F, "h": -, "i": 1e5, "j": 1e999, "k\\x": 1, "l": "\\x", "Input Dims": [[2, 3.]], "m": 00012345678901234567890, "m": 2}},
{"ph": "X", "cat": "kernel", "name": "=cmd|'/c calc'!A0", "pid": 0, "tid": 7, "ts": 5, "dur": 10, "args": {"device": 0, "stream": 7, "grid": [1, 1, 1.], "n": 1.}},
{"ph": "i", "s": "t\\x", "cat": "user", "name": "-2+3", "pid": 7, "tid": 8, "ts": 6, "args": {"raw\xff": "bad \xff utf-8", "ctl": "a\x01b"}},
{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1., "pid": 7, "tid": 8, "ts": 2, "bp": "e"}
]}"""
COLOURS = re.compile(rb"\x1b\[\d+(?:;\d+)*m")
TERMINAL = {"TERM": "xterm", "COLUMNS": "120", "PATH": os.environ.get("PATH", "")}


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print("wrong:", what)
    return truth


def run(*words):
    done = subprocess.run([LACUNA, *words], capture_output=True, timeout=60)
    check(done.returncode in (0, 1, 3), f"{words} ends as it should, not with {done.returncode}: {done.stderr[:300]}")
    return done


def on_terminal(*words):
    """What the command sends to a terminal that is its output and its error."""
    leader, follower = pty.openpty()
    running = subprocess.Popen([LACUNA, *words], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env={**os.environ, **TERMINAL})
    os.close(follower)
    sent = b""
    try:
        while chunk := os.read(leader, 65536):
            sent += chunk
    except OSError:  # the program has ended
        pass
    running.wait(timeout=60)
    os.close(leader)
    return sent


def refuse(what):
    raise ValueError(what)


def without_duplicates(pairs):
    names = [name for name, _ in pairs]
    return dict(pairs) if len(names) == len(set(names)) else refuse(f"a name twice among {names}")


def check_json(text, what, lines=False):
    try:
        decoded = text.decode("utf-8")
        for one in decoded.splitlines() if lines else [decoded]:
            json.loads(one, parse_constant=refuse, object_pairs_hook=without_duplicates)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        check(False, f"{what} is JSON: {error}; near {text[max(0, at - 100):at + 100]!r}")


def unseen(text):
    """The first character that a terminal obeys or that turns text, but line ends and tabs."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return str(error)
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", decoded)
    return f"{found[0]!r} in {decoded[max(0, found.start() - 60):found.end() + 20]!r}" if found else None


def check_text(text, what):
    found = unseen(text)
    check(not found, f"{what} shows {found}")


def check_terminal(*words):
    sent = on_terminal(*words).replace(b"\r\n", b"\n").replace(b"\r\x1b[K", b"")
    check_text(COLOURS.sub(b"", sent), f"a terminal that gets {words}")
    check(not re.search(rb"\x1b\[31mred", sent), f"{words} lets no name bring its own colour")
    return sent


TABLES = ("process", "thread", "range", "mark", "kernel", "arg", "arg_set", "environment", "counter_track", "drop", "log")


def check_json_outputs(trace, other, folder):
    for words in (["info"], ["report"], ["diff", other], ["whatif", "host*0.5"]):
        done = run(words[0], trace, *words[1:], "--json")
        if done.stdout:
            check_json(done.stdout, f"{words} of {trace}")
    for table in TABLES:
        check_json(run("query", trace, f"SELECT *, 1e999 AS x FROM \"{table}\"", "--json").stdout, f"query of {table}")
        out = os.path.join(folder, "table.json")
        run("convert", trace, "-o", out, "--to", "table-json", "--table", table)
        check_json(open(out, "rb").read(), f"table-json of {table} in {trace}", lines=True)
        os.remove(out)
    for name, how in (("out.json", "chrome"), ("out.speedscope.json", "speedscope")):
        out = os.path.join(folder, name)
        run("convert", trace, "-o", out, "--to", how)
        text = open(out, "rb").read()
        check_json(text, f"{how} of {trace}")
        check(b"\x1b" not in text and b"\x7f" not in text, f"{how} of {trace} has no control characters")
        if how == "chrome":  # and what we wrote, we read and write again
            run("convert", out, "-o", out + ".again.json")
            check_json(open(out + ".again.json", "rb").read(), f"{how} of {how} of {trace}")
            os.remove(out + ".again.json")
        os.remove(out)


def check_texts(trace, other):
    for words in (["info", trace], ["report", trace], ["report", trace, "--section", "kernels,operators,memory"], ["diff", trace, other],
                  ["whatif", trace, "host*0.5"], ["check", trace, "--baseline", other], ["query", trace, "SELECT * FROM range LIMIT 50"],
                  ["query", trace, "SELECT 1 AS \"\x1b[31m\""]):
        done = run(*words)
        check_text(done.stdout, f"standard output of {words}")
        check_text(done.stderr, f"standard error of {words}")
        check_terminal(*words)


def check_csv(trace, folder):
    sql = "SELECT name, -5 AS number, '-5' AS word FROM range UNION SELECT text, NULL, '' FROM log"
    done = run("query", trace, sql, "--csv")
    out = os.path.join(folder, "range.csv")
    run("convert", trace, "-o", out, "--table", "range")
    for text in (done.stdout, open(out, "rb").read()):
        check(b"\x1b[31mred" in text and b"bad\xff" in text, "a file gets the bytes as they are")
        for row in csv.reader(io.StringIO(text.decode("latin-1"))):
            for field in row:
                check(not re.match(r"[=@+\t\r]|-(?!\d+(\.\d+)?(e[+-]?\d+)?$)", field), f"the field {field!r} is no formula")
    check(b"'=HYPERLINK" in done.stdout, "a formula has an apostrophe in front")
    check(b",-5,-5\n" in done.stdout, "numbers stay numbers")
    check_terminal("query", trace, sql, "--csv")
    os.remove(out)


class Tags(html.parser.HTMLParser):
    """Names of the elements and comments of a page."""
    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.seen.update(name for name, _ in attrs if name.startswith("on"))

    def handle_comment(self, data):
        self.seen.add("comment")


def check_page(trace, folder):
    out = os.path.join(folder, "page.html")
    run("report", trace, "--html", out)
    if not check(os.path.exists(out), "there is a page"):
        return
    page = open(out, "rb").read()
    tags = Tags()
    tags.feed(page.decode("utf-8"))
    check(not tags.seen & {"script", "comment"} and not any(tag.startswith("on") for tag in tags.seen), f"a page holds {tags.seen}")
    check_text(page, "a page")
    os.remove(out)


def check_folded(trace, folder):
    out = os.path.join(folder, "out.folded")
    run("convert", trace, "-o", out)
    for line in open(out, "rb").read().splitlines():
        check(re.fullmatch(rb"[^\x00-\x1f\x7f]+ \d+", line), f"folded stacks have a number behind {line!r}")
    os.remove(out)


def check_file_names(folder):
    name = os.path.join(folder, "no\x1b[31m\nlacuna: error: \u202efake")
    for words in (["info", name], ["report", name], ["query", name, "SELECT 1"], ["convert", name, "-o", os.path.join(folder, "x.json")]):
        done = run(*words)
        check_text(done.stderr, f"{words}")
        check(done.stderr.count(b"\n") == 1 and b"no\\x1b[31m lacuna" in done.stderr, f"{words} shows the name on one line")
        check_terminal(*words)
    os.link(os.path.join(folder, "own.lcn"), name)
    for words in (["info", name], ["convert", name, "--force", "-o", name + ".json"]):
        check_text(run(*words).stdout, f"{words}")
        check_terminal(*words)


def check_memory(folder):
    """Whatever is left of memory, a lack of it ends with a message."""
    if any(name in open(LACUNA, "rb").read() for name in (b"__asan_init", b"__tsan_init")):
        return  # a sanitizer takes more address space than any limit leaves
    trace = os.path.join(folder, "large.lcn")
    run("generate", "-o", trace, "--events", "2000000")
    seen = 0
    for words in (["query", trace, "SELECT count(*) FROM range a JOIN range b ON a.durNs = b.durNs AND a.name = b.name", "--time-limit", "1"],
                  ["report", trace], ["convert", trace, "--force", "-o", trace + ".folded"]):
        for mebibytes in (60, 120, 220):
            limit = mebibytes << 20
            done = subprocess.run([LACUNA, *words], capture_output=True, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if done.returncode != 127:  # else the loader itself has too little
                check(done.returncode in (0, 1), f"{words} with {mebibytes} MiB of memory ends with {done.returncode}: {done.stderr[:200]}")
            seen += b"not enough memory to go on" in done.stderr
    check(seen > 0, "a lack of memory has a message")


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([MAKER, folder], check=True)
    names = {name: os.path.join(folder, name) for name in ("own.lcn", "own2.lcn", "kineto.lcn", "kineto.json")}
    open(names["kineto.json"], "wb").write(KINETO)
    for name in ("own.lcn", "kineto.lcn", "kineto.json"):
        check_json_outputs(names[name], names["own2.lcn"], folder)
        check_texts(names[name], names["own2.lcn"])
        check_page(names[name], folder)
        check_folded(names[name], folder)
    check_csv(names["own.lcn"], folder)
    check_file_names(folder)
    check_memory(folder)
print("failed" if FAILED else "passed")
sys.exit(1 if FAILED else 0)
