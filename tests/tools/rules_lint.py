#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""rules_lint.py ROOT: the rules of analyzer/src/rules keep their numbers and names in their descriptors.

- No number but 0, 1 and 2 stands outside a named constant.
- Every Threshold and Confidence of a file is in the list that its descriptor shows.
- The text of a finding's id stands nowhere but in its own descriptor: code uses FindingId."""
import pathlib
import re
import sys
import tempfile

# These ids are also settings of a program, whose names are text.
SETTINGS = {"amp", "fuse", "autotune"}
# Outside of the rules these mean something else: a cause's label, a part that a change scales, a figure of an allocator.
OTHERS = {"launch-bound", "cores-taken", "fragmentation"}
USERS = ("analyzer", "cli/src", "gui", "tests/analyzer/rules", "tests/bench", "tests/e2e", "tests/support")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
CONSTANT = re.compile(r"\b(?:constexpr|#define)\b[^;]*;")
NUMBER = re.compile(r"(?<![\w.'])(0x[\da-fA-F']+|\d[\d']*(?:\.[\d']*)?(?:[eE][+-]?\d+)?)[uUlLfF]*")
ALLOWED = {0.0, 1.0, 2.0}


def blank(match):
    """As many lines, and nothing in them."""
    return "\n" * match[0].count("\n") or " "


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def loose_numbers(text):
    bare = CONSTANT.sub(blank, STRING.sub('""', COMMENT.sub(blank, text)))
    bare = re.sub(r"^[ \t]*#.*$", "", bare, flags=re.M)
    for match in NUMBER.finditer(bare):
        digits = match[1].replace("'", "")
        value = int(digits, 16) if digits.startswith("0x") else float(digits)
        if value not in ALLOWED:
            yield line_of(bare, match.start()), f"the number {match[0]} has no name: make it a constant, or a Threshold of the rule"


def unlisted(text):
    bare = COMMENT.sub(blank, text)
    for kind, listed in (("Threshold", "kThresholds"), ("Confidence", "kConfidences")):
        names = re.findall(rf"constexpr {kind} (k\w+)", bare)
        entries = re.search(rf"\b{listed}\{{([^}}]*)\}}", bare)
        shown = re.findall(r"k\w+", entries[1]) if entries else []
        for name in names:
            if name not in shown:
                yield line_of(bare, bare.index(f"{kind} {name}")), f"{name} is not in {listed}"


def check(root):
    """The violations: (file, line, reason)."""
    found = []
    files = sorted(path for path in (root / "analyzer/src/rules").rglob("*") if path.suffix in (".cpp", ".h"))
    keys = set()
    for path in files:
        text = path.read_text()
        keys.update(re.findall(r'\.key = "([^"]+)"', text))
        found += [(path, line, why) for line, why in loose_numbers(text)]
        found += [(path, line, why) for line, why in unlisted(text)]
    users = [path for user in USERS if (root / user).is_dir() for path in sorted((root / user).rglob("*")) if path.suffix in (".cpp", ".h")]
    for path in users:
        text = COMMENT.sub(blank, path.read_text())
        free = SETTINGS if "rules" in path.relative_to(root).parts else SETTINGS | OTHERS
        for match in re.finditer(r'"([a-z]+(?:-[a-z]+)*)"', text):
            is_own = text[: match.start()].endswith(".key = ")
            if match[1] in keys - free and not is_own:
                found.append((path, line_of(text, match.start()), f'the id "{match[1]}" stands as text: use FindingId'))
    return [(str(path.relative_to(root)), line, why) for path, line, why in found]


RULE = ('constexpr Threshold kLeast{"least", 0.05, Unit::Share, "12 reasons"};\nconstexpr std::array kThresholds{kLeast};\n'
        'constexpr Confidence kSure{"", 0.9, "because"};\nconstexpr std::array kConfidences{kSure};\n'
        'constinit const FindingRule kRule{.key = "some-fault"};\n')
# Each a tree, and a part of the reason that must be reported once; None for a clean tree.
PLANTED = (
    ("a clean rule", {"analyzer/src/rules/host/a.cpp": RULE + "int f(int a) { return a + 1; }  // 17 of them\n"}, None),
    ("a loose number", {"analyzer/src/rules/host/a.cpp": RULE + "bool f(double a) { return a > 0.3; }\n"}, "the number 0.3"),
    ("a loose number with marks", {"analyzer/src/rules/host/a.cpp": RULE + "bool f(int a) { return a > 50'000; }\n"}, "50'000"),
    ("a number in a named constant", {"analyzer/src/rules/a.h": "inline constexpr double kGaps = 1.05;\n"}, None),
    ("types and texts with digits", {"analyzer/src/rules/a.cpp": 'std::int64_t a; auto b = fmt::format("{:10} 33", a);\n'}, None),
    ("a threshold that no list shows", {"analyzer/src/rules/host/a.cpp": RULE + 'constexpr Threshold kMore{"more", 3, Unit::Count, ""};\n'},
     "kMore is not in kThresholds"),
    ("a confidence that no list shows", {"analyzer/src/rules/host/a.cpp": RULE + 'constexpr Confidence kTwo{"", 0.2, ""};\n'},
     "kTwo is not in kConfidences"),
    ("an id as text in a rule", {"analyzer/src/rules/host/a.cpp": RULE + 'bool f(S id) { return id == "some-fault"; }\n'}, "stands as text"),
    ("an id as text in a report", {"analyzer/src/rules/host/a.cpp": RULE, "analyzer/src/report/b.cpp": 'auto a = "some-fault";\n'}, "stands as text"),
    ("an id in a comment", {"analyzer/src/rules/host/a.cpp": RULE, "gui/src/b.cpp": '/// "some-fault"\n'}, None),
)


def self_test():
    failures = 0
    for title, files, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            reasons = [why for _, _, why in check(root)]
        good = reasons == [] if expected is None else len(reasons) == 1 and expected in reasons[0]
        failures += not good
        print(f"{'ok' if good else 'FAIL':4} {title}" + ("" if good else f": expected {expected!r}, got {reasons}"))
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = check(pathlib.Path(sys.argv[1]).resolve())
    for name, line, why in found:
        print(f"{name}:{line}: {why}", file=sys.stderr)
    print(f"rules_lint: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
