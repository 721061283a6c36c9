#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands on traces whose texts do harm. Every JSON output is JSON by RFC 8259 in UTF-8. Names reach a
terminal as text only. No field of a CSV file is a formula, and a page runs no script."""
import csv
import html.parser
import io
import json
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

LACUNA, MAKER = (os.path.abspath(word) for word in sys.argv[1:3])
FAILED = []
# Things that Kineto's writer never writes, but a file from elsewhere may hold: numbers of other languages, names with controls,
# broken escapes.
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
    """The bytes that the command sends to a terminal through its output and error streams."""
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
    run("report", trace, "-o", out)
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


# Each as it stands in a file of JSON, and as the result shows it.
KERNELS = (
    (rb'\u0000\u0001\u001b[31m\u007f\u0085', r"\x00\x01\x1b[31m\x7f\x85"),
    (rb'right\u202eleft\u2066\u061c', r"right\u202eleft\u2066\u061c"),
    (b"bad\xff\xc3(utf", "bad??(utf"),  # as the importer reads it
    ("no\ufffecharacter\uffff".encode(), r"no\ufffecharacter\uffff"),
    (rb'\"&amp;\' ]]><!-- </failure> &', "\"&amp;' ]]><!-- </failure> &"),
    (rb'a\r\n::error::b\tc', "a  ::error::b c"),
)


def write_steps(path, kernel, length):
    """A run of ten steps with a kernel in each. A run with another length differs by more than noise explains."""
    def event(category, name, start, took, thread, args="{}"):
        return b'{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": %d, "ts": %d, "dur": %d, "args": %s}' % (
            category.encode(), name, thread, start, took, args.encode())
    events = []
    for i in range(10):
        at = 2 * length * i
        events.append(event("user_annotation", b"ProfilerStep#%d" % i, at, length + 20, 1))
        events.append(event("cuda_runtime", b"cudaLaunchKernel", at + 1, 5, 1, f'{{"correlation": {i + 1}}}'))
        events.append(event("kernel", kernel, at + 10, length, 7, f'{{"correlation": {i + 1}, "device": 0, "stream": 7}}'))
    open(path, "wb").write(b'{"traceEvents": [' + b", ".join(events) + b"]}")
    return path


def check_junit(folder):
    for written, shown in KERNELS:
        slow, fast = (write_steps(os.path.join(folder, f"{length}.json"), written, length) for length in (400, 200))
        out = os.path.join(folder, "junit.xml")
        done = run("check", slow, "--baseline", fast, "-o", out, "--force", "--github")
        text = open(out, "rb").read()
        check_text(text, "a result as JUnit")
        check_text(done.stdout, "a check")
        check(not re.search(rb"^::error::", done.stdout, re.M), "no name is a command of a workflow")
        try:
            suite = ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            check(False, f"a result with the kernel {shown} is XML: {error}")
            continue
        failures = suite.findall("testcase/failure")
        check(failures and all(f"kernel {shown}:" in failure.text for failure in failures), f"a failure names {shown}: {failures and failures[0].text}")
        os.remove(out)


def fields(message, what):
    """Number, wire type and value of each field of a message of protocol buffers, which must be whole."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while at < len(message) and shift < 70:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise ValueError(f"a number in {what} is cut off")

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, 0, varint()
            continue
        if tag & 7 not in (1, 2, 5) or tag >> 3 == 0:
            raise ValueError(f"{what} has a field with tag {tag}")
        length = {1: 8, 5: 4}.get(tag & 7) or varint()
        if at + length > len(message):
            raise ValueError(f"field {tag >> 3} in {what} is cut off")
        at += length
        yield tag >> 3, tag & 7, message[at - length:at]


# Texts of Perfetto's messages that we write, by field: of a packet its track event, interned names and track descriptor.
TEXT, JSON = "text", "JSON"
NAMES = {1: {2: TEXT}, 2: {2: TEXT}}
TRACK = {2: TEXT, 3: {6: TEXT}, 4: {5: TEXT}, 8: {6: TEXT}}
PACKET = {11: {4: {6: TEXT, 9: JSON, 10: TEXT}, 22: TEXT, 23: TEXT}, 12: NAMES, 60: TRACK}


def check_message(message, schema, what, texts):
    for number, wire, value in fields(message, what):
        kind = schema.get(number)
        if isinstance(kind, dict):
            check_message(value, kind, f"{what}.{number}", texts)
        elif kind is not None:
            if wire != 2:
                raise ValueError(f"{what}.{number} is no text")
            texts.add(value.decode("utf-8"))
            if kind == JSON:
                check_json(value, f"{what}.{number}")


def check_perfetto(trace, folder):
    out = os.path.join(folder, "out.pftrace")
    run("convert", trace, "-o", out)
    texts = set()
    try:
        for number, _, packet in fields(open(out, "rb").read(), "the trace"):
            check(number == 1, f"a trace has packets alone, not {number}")
            check_message(packet, PACKET, "packet", texts)
    except ValueError as error:  # a text that is no UTF-8, too
        check(False, f"Perfetto of {trace} can be decoded: {error}")
    check(any(text.startswith("\x1b[31mred") for text in texts), "a name in Perfetto keeps its characters")
    again = os.path.join(folder, "again.csv")
    first = os.path.join(folder, "first.csv")
    for source, csv_file in ((trace, first), (out, again)):
        run("convert", source, "-o", csv_file, "--table", "mark")
    check(open(first, "rb").read() == open(again, "rb").read(), f"Perfetto of {trace} gives the same bytes back")
    for file in (out, first, again):
        os.remove(file)


def check_nsys(trace, folder):
    out = os.path.join(folder, "out.sqlite")
    run("convert", trace, "-o", out)
    with sqlite3.connect(out) as database:
        check(database.execute("PRAGMA integrity_check").fetchone() == ("ok",), f"the database of {trace} is whole")
        strings = set()
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            try:
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    strings.update(value for value in row if isinstance(value, str))
            except sqlite3.OperationalError as error:
                check(False, f"table {table} of {trace} can be read: {error}")
    check(any(text.startswith("\x1b[31mred") for text in strings), "a name in a database keeps its characters")
    os.remove(out)
    return strings


LONGEST = 1 << 16


def check_long_names(folder):
    """Names of a megabyte, and with a NUL inside. Formats that keep each text once keep all of it; others cut it, with a warning."""
    trace = os.path.join(folder, "long.json")
    names = ["n" * LONGEST, "m" * (1 << 20), "before\0behind", "é" * (1 << 19)]
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5} for i, name in enumerate(names)]
    json.dump({"traceEvents": [*events, {**events[0], "name": "\x1b[31mred", "ts": 90}]}, open(trace, "w"))
    check(set(names) <= check_nsys(trace, folder), "long names in a database are whole")
    check_perfetto(trace, folder)
    out = os.path.join(folder, "out.json")
    done = run("convert", trace, "-o", out, "--to", "chrome")
    check(b"texts cut to 65,536 bytes where they are shown: 2" in done.stderr, f"convert counts what it cuts: {done.stderr}")
    check_json(open(out, "rb").read(), "Chrome JSON of long names")
    cut = {name.encode()[:LONGEST].decode() for name in names}
    check(cut <= {event["name"] for event in json.load(open(out))["traceEvents"]}, "names in Chrome JSON have their first 65,536 bytes")
    check_text(run("info", trace).stdout, "info of long names")
    check_text(run("report", trace).stdout, "a report of long names")
    os.remove(out)


# As the shell would give them: bytes.
HOSTILE_FOLDER = b"fol\x1b[31mder \xe2\x80\xae \xff\xc3( \"quo'ted\" =1+1\n"


def check_recover(folder):
    place = os.path.join(os.fsencode(folder), HOSTILE_FOLDER)
    os.mkdir(place)
    cut = os.path.join(place, b"cut.lcn")
    full = open(os.path.join(folder, "own.lcn"), "rb").read()
    open(cut, "wb").write(full[:len(full) * 3 // 4])
    done = run("recover", cut, "-o", os.path.join(place, b"whole.lcn"), "--json")
    check(done.returncode == 0, f"a cut trace can be recovered: {done.stderr}")
    check_json(done.stdout, "what recover tells")
    check_text(done.stdout, "what recover tells")
    check(b"fol\\u001b[31mder" in done.stdout, f"recover names the file: {done.stdout[:300]}")
    done = run("recover", os.path.join(place, b"none.lcn"), "-o", os.path.join(place, b"never.lcn"), "--json")
    check(done.returncode == 1 and not done.stdout, "what cannot be recovered has no JSON")
    check_text(done.stderr, "an error of recover")


def check_doctor(folder):
    """Checks doctor on the recording that a killed run left in a folder with such a name."""
    place = os.path.join(os.fsencode(folder), b"runs " + HOSTILE_FOLDER)
    os.mkdir(place)
    recording = os.path.join(place, b"out.lcn.recording")
    running = subprocess.Popen([LACUNA, "run", "-q", "--trace", "nvtx", "-o", "out.lcn", "--", "sleep", "60"], cwd=place, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.time() + 30
    while time.time() < until and not any(name.endswith(b".lcr") for at in (recording, os.path.join(recording, b"shm")) if os.path.isdir(at)
                                          for name in os.listdir(at)):
        if running.poll() is not None:
            print("no run can be made here")
            return
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    done = run("doctor", "--json")
    check_json(done.stdout, "what doctor tells")
    check_text(done.stdout, "what doctor tells as JSON")
    check_text(run("doctor").stdout, "what doctor tells")
    check_terminal("doctor")
    check(b"fol\\\\x1b[31mder" in done.stdout or b"fol\\u001b[31mder" in done.stdout, "doctor names what the run left")
    done = run("recover", recording, "-o", os.path.join(place, b"recovered.lcn"), "--json")
    check_json(done.stdout, "what recover tells of a recording")
    check_text(done.stdout, "what recover tells of a recording")
    if os.path.isdir(os.path.join(recording, b"shm")):
        shutil.rmtree(os.readlink(os.path.join(recording, b"shm")), ignore_errors=True)


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
        check_perfetto(names[name], folder)
        check_nsys(names[name], folder)
    check_csv(names["own.lcn"], folder)
    check_junit(folder)
    check_long_names(folder)
    check_recover(folder)
    check_doctor(folder)
    check_file_names(folder)
    check_memory(folder)
print("failed" if FAILED else "passed")
sys.exit(1 if FAILED else 0)
