# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Judges how a command ended and what it wrote. A check returns the fault, or nothing where all is well."""

import csv
import gzip
import html.parser
import io
import json
import os
import re
import sys
import traceback
import xml.etree.ElementTree
import zlib

import native

SANITIZER = re.compile(rb"(Address|Thread|Leak|UndefinedBehavior|Memory)Sanitizer|runtime error: |Assertion .* failed|terminate called")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
VOID = {"meta", "br", "link", "img", "input", "hr", "col"}
csv.field_size_limit(sys.maxsize)


def text_of(data):
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        return "", f"is no UTF-8 at byte {error.start}"


def plain(data):
    """For people, on a terminal."""
    text, wrong = text_of(data)
    found = CONTROL.search(text)
    return wrong or (f"has the control character {found[0]!r} at {found.start()}: {text[max(0, found.start() - 60) : found.end() + 20]!r}" if found else "")


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


def unique(pairs):
    """Keeps nothing, as forget: what is read of 400 MB would take 4 GB."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"the key {max(keys, key=keys.count)!r} is there twice")


def forget(_):
    pass


def strict_json(data, repeated_keys=False):
    text, wrong = text_of(data)
    if wrong:
        return wrong
    try:
        json.loads(text, parse_constant=no_constant, object_pairs_hook=forget if repeated_keys else unique)
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {str(error)[:200]}"
    return ""


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], ""

    def handle_starttag(self, tag, attributes):
        if tag == "script" and ("type", "application/json") not in attributes:
            self.wrong = self.wrong or "has a script"
        self.wrong = self.wrong or next((f"has the attribute {name}" for name, _ in attributes if name.startswith("on")), "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong = self.wrong or f"closes {tag} that is not open"


def page(data):
    text, wrong = text_of(data)
    if wrong:
        return wrong
    reader = Page()
    reader.feed(text)
    for embedded in re.findall(r"<script[^>]*application/json[^>]*>(.*?)</script>", text, re.S):
        reader.wrong = reader.wrong or strict_json(embedded.encode())
    return reader.wrong or (f"leaves {reader.open[-1]} open" if reader.open else "")


def xml_document(data):
    try:
        xml.etree.ElementTree.fromstring(data)
    except xml.etree.ElementTree.ParseError as error:
        return f"is no XML: {error}"
    return ""


def table(data):
    """CSV, which keeps bytes that are no UTF-8 as they are (docs/importing.md)."""
    rows = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape", newline=""))
    columns = len(next(rows, []))
    return next((f"line {n} has {len(row)} fields, not {columns}" for n, row in enumerate(rows, 2) if len(row) != columns), "")


def unpacked(ending, holds):
    """A check of a compressed file, which passes its content to `holds`."""
    def check(data):
        try:
            text = gzip.decompress(data) if ending == ".gz" else native.unzstd(data)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            return f"cannot be unpacked: {error}"
        return "" if text is None else holds(text)
    check.is_packed = True
    return check


def stacks(data):
    text, wrong = text_of(data)
    lines = (line.removesuffix("\n") for line in io.StringIO(text, newline="\n") if line.endswith("\n"))
    return wrong or next((f"has the line {line[:80]!r}" for line in lines if not re.search(r" \d+$", line)), "")


LARGE = 32 << 20


def of_file(path, check):
    """Runs `check` on a file. A child reads a file that is large, or may be once it is unpacked: Python takes four
    times the size of a text with one wide character."""
    if path.stat().st_size < LARGE and not getattr(check, "is_packed", False):
        return check(path.read_bytes())
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            wrong = check(path.read_bytes())
        except BaseException:  # a fault of ours, which the parent names
            wrong = traceback.format_exc(limit=-3)
        os.write(writing, wrong.encode("utf-8", "backslashreplace")[:4000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        wrong = pipe.read().decode("utf-8")
    status = os.waitpid(child, 0)[1]
    return wrong or (f"could not be checked: status {status}" if status else "")


def ending(ended, stderr, codes, silent, message):
    """Judges the process itself. Exit codes above 0 that are not silent need a message on standard error."""
    if SANITIZER.search(stderr):
        return "crash", "a sanitizer or the C++ runtime complains"
    if ended.over:
        why = {"time": "too much processor time", "rest": "too long at rest", "memory": "too much memory", "output": "too much output"}[ended.over]
        return "hang" if ended.over in ("time", "rest") else "blow-up", f"{why}: {ended.seconds:.1f} s of processor time, {ended.memory_mib:.0f} MiB"
    if ended.code is None:
        return "crash", f"signal {ended.signal}"
    if ended.code not in codes:
        return "exit code", f"{ended.code}, which is not one of {codes}"
    if ended.code != 0 and ended.code not in silent and message not in stderr:
        return "exit code", f"{ended.code} without a message"
    wrong = plain(stderr)
    return ("output", f"standard error {wrong}") if wrong else None
