#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Fails on a number without a name, or a named one without a reason, in C++ files of the folders given. Every number
other than 0, 1 and 2 is the value of a constant (constexpr … kName). A comment beside or above that constant gives the
reason for the value.

numbers_lint.py FOLDER… | --self-test"""
import pathlib
import re
import sys
import tempfile

PLAIN = {0.0, 1.0, 2.0}
NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F']+|0[bB][01']+|(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?)[uUlLzZfF]*(?!\w)")
CONSTANT = re.compile(r"\bconstexpr\b[^;=(){}]*\b(k[A-Z]\w*)(?:\[\w*\])?\s*(?:=|\{)")
TEXT = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'')


def value(text):
    text = text.replace("'", "")
    try:
        return float(int(text, 0)) if re.fullmatch(r"0[xXbB].*|\d+", text) else float(text)
    except ValueError:  # an octal
        return float(int(text, 8))


def split(source):
    """The source without texts and comments, and the numbers of the lines that a comment touches."""
    commented = set()

    def blank(match):
        if match[0].startswith(("//", "/*")):
            first = source.count("\n", 0, match.start())
            commented.update(range(first, first + match[0].count("\n") + 1))
        return re.sub(r"[^\n]", " ", match[0])

    both = re.compile(r"//[^\n]*|/\*(?:.|\n)*?\*/|" + TEXT.pattern)
    code = both.sub(blank, source)
    return re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", code, flags=re.M), commented


def constants(code):
    """Where definitions of constants lie: from, to, name."""
    spans = []
    for match in CONSTANT.finditer(code):
        depth, at = 0, match.end() - 1
        while at < len(code) and (depth > 0 or code[at] != ";"):
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(code[at], 0)
            at += 1
        spans.append((match.start(), at, match[1]))
    return spans


def faults(source):
    """(line, text) of each fault."""
    code, commented = split(source)
    lines = code.split("\n")
    spans = constants(code)
    found = []
    seen = set()
    for match in NUMBER.finditer(code):
        if value(match[1]) in PLAIN:
            continue
        line = code.count("\n", 0, match.start())
        inside = next((span for span in spans if span[0] <= match.start() < span[1]), None)
        if inside is None:
            found.append((line + 1, f"{match[0]} has no name"))
            continue
        if inside in seen:
            continue
        seen.add(inside)
        first, last = code.count("\n", 0, inside[0]), code.count("\n", 0, inside[1])
        above = first - 1
        if above >= 0 and not lines[above].strip():  # nothing but a comment, or nothing
            reason = above in commented
        else:
            reason = False
        if not reason and not any(at in commented for at in range(first, last + 1)):
            found.append((first + 1, f"no comment gives the reason for {inside[2]}"))
    return found


def check(folders):
    count = 0
    for folder in folders:
        files = [path for path in sorted(pathlib.Path(folder).rglob("*")) if path.suffix in (".cpp", ".h")]
        if not files:
            sys.exit(f"numbers_lint: {folder}: no C++ file there")
        for path in files:
            for line, text in faults(path.read_text()):
                print(f"{path}:{line}: {text}")
                count += 1
    return count


def self_test():
    clean = [
        "int a = 0, b = 1, c = 2; double d = 1.0, e = 2.0f;",
        "/// Because.\nconstexpr int kMost = 7;",
        "constexpr int kMost = 7;  // because",
        "/// Because.\nconstexpr std::int64_t kLongest = std::int64_t{1} << 52;",
        "/// Because.\nconstexpr Factor kFactor{0.5, 0.3, 0.9};",
        "/// Because\n/// of two lines.\ninline constexpr std::size_t kFew = 5;",
        'const char* text = "7 of 8"; // 9\n/* 10\n 11 */ char c = \'7\';',
        "std::int64_t a; std::uint8_t b; a1 = x2 + utf8;",
        '#include "file7.h"\n',
        'auto s = R"(7 "8")";',
        "constexpr int kOne = 1;",
    ]
    faulty = [
        ("int a = 3;", "3 has no name"),
        ("f(0.5);", "0.5 has no name"),
        ("x = 1'000'000;", "1'000'000 has no name"),
        ("x = 0x10;", "0x10 has no name"),
        ("x = 1e6;", "1e6 has no name"),
        ("y = 3u;", "3u has no name"),
        ("constexpr int kMost = 7;", "no comment gives the reason for kMost"),
        ("int a;  // of another\nconstexpr int kMost = 7;", "no comment gives the reason for kMost"),
        ("/// Because.\nconstexpr int most = 7;", "7 has no name"),
        ("/// Because.\nconstexpr int kMost = 7; int a = 8;", "8 has no name"),
        ("/// Because.\nconstexpr int kMost = 7;\nvoid f() { g(kMost, 9); }", "9 has no name"),
    ]
    for source in clean:
        assert faults(source) == [], (source, faults(source))
    for source, text in faulty:
        assert [found for _, found in faults(source)] == [text], (source, faults(source))
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "planted.cpp").write_text("int a = 3;\n")
        assert check([folder]) == 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        sys.exit(1 if check(sys.argv[1:]) else 0)
