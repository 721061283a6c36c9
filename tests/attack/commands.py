# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Every command that reads a trace, and what must hold of what it writes."""

from dataclasses import dataclass, field

import verdict

QUERIES = ("SELECT count(*) AS n, sum(durNs) AS ns FROM kernel", "SELECT name, startNs, durNs FROM range ORDER BY durNs DESC LIMIT 20",
           "SELECT * FROM allocation LIMIT 20", "SELECT * FROM arg LIMIT 50", "SELECT * FROM process, thread LIMIT 20")
# What a query must not do, and is refused.
FORBIDDEN = ("SELECT fts3_tokenizer('simple', x'4141414141414141')", "SELECT load_extension('x')", "VACUUM INTO 'out/copy.db'", "ATTACH 'out/other.db' AS o",
             "PRAGMA writable_schema = ON", "CREATE VIRTUAL TABLE temp.t USING fts4(a)", "SELECT writefile('out/x', 'x')", "SELECT readfile('/etc/passwd')", "")
# What costs more than it seems to, and is refused or done within the limits.
COSTLY = ("SELECT json_extract(replace(hex(zeroblob(50000)), '0', '['), '$')", "SELECT " + "(" * 2000 + "1" + ")" * 2000, "SELECT length(zeroblob(2147483647))",
          "SELECT replace(hex(zeroblob(400000000)), '0', 'abcdefgh')", "SELECT 'a' LIKE replace(hex(zeroblob(20000)), '0', '%a')", "SELECT 1; SELECT 2")
FORMATS = {"lcn": None, "chrome": lambda data: verdict.strict_json(data, repeated_keys=True), "perfetto": None, "nsys": None, "folded": verdict.stacks,
           "speedscope": verdict.strict_json, "csv": verdict.table, "table-json": None}


@dataclass
class Command:
    words: list  # MUTANT, GOOD and out/NAME stand for files
    codes: tuple = (0, 1, 2)
    silent: tuple = ()  # codes that say no more than what is printed
    printed: object = verdict.plain  # of standard output
    writes: dict = field(default_factory=dict)  # a file in out/ and what must hold of it; none: it opens again
    gui: bool = False
    message: bytes = b"lacuna: error:"  # which the others come with

    @property
    def name(self):
        return " ".join(str(word) for word in self.words)


def lines_of_json(data):
    return next((wrong for wrong in map(verdict.strict_json, data.splitlines()) if wrong), "")


def all_commands(rng, with_gui):
    yield Command(["info", "MUTANT"])
    yield Command(["info", "--json", "MUTANT"], printed=verdict.strict_json)
    yield Command(["info", "--verify", "MUTANT"], silent=(1,))
    yield Command(["report", "MUTANT"])
    yield Command(["report", "--json", "MUTANT"], printed=verdict.strict_json)
    yield Command(["report", "MUTANT", "--html", "out/page.html"], writes={"page.html": verdict.page})
    yield Command(["whatif", "MUTANT", "host*0.5", "sync=off", "--json"], printed=verdict.strict_json)
    yield Command(["whatif", "MUTANT", "kernel:*0.5"])
    yield Command(["diff", "MUTANT", "MUTANT", "--json"], printed=verdict.strict_json)
    yield Command(["diff", "GOOD", "MUTANT"])
    yield Command(["check", "MUTANT", "--baseline", "GOOD", "--github", "--junit", "out/junit.xml"], codes=(0, 1, 2, 3), silent=(1,), writes={"junit.xml": verdict.xml_document})
    for number, sql in enumerate(QUERIES):
        yield Command(["query", "MUTANT", sql] + (["--json"] if number % 2 else []), printed=verdict.strict_json if number % 2 else verdict.plain)
    yield Command(["query", "MUTANT", "SELECT * FROM range LIMIT 100", "--csv"], printed=verdict.table)
    yield Command(["query", "MUTANT", rng.choice(FORBIDDEN)], codes=(1, 2))
    yield Command(["query", "MUTANT", rng.choice(COSTLY)])
    for form, holds in FORMATS.items():
        name = f"converted.{form}"
        yield Command(["convert", "-q", "MUTANT", "-o", f"out/{name}", "--to", form], writes={name: lines_of_json if form == "table-json" else holds})
    yield Command(["merge", "MUTANT", "GOOD", "-o", "out/merged.lcn"], writes={"merged.lcn": None})
    yield Command(["recover", "MUTANT", "-o", "out/recovered.lcn"], writes={"recovered.lcn": None})
    yield Command(["recover", "--json", "MUTANT", "-o", "out/recovered.lcn"], printed=verdict.strict_json, writes={"recovered.lcn": None})
    if with_gui:
        yield Command(["MUTANT", "--screenshot", "out/picture.png", "--page", "timeline", "--size", "1280x800"], printed=verdict.plain,
                      writes={"picture.png": lambda data: "" if data.startswith(b"\x89PNG") else "is no PNG"}, gui=True, message=b"lacuna-gui: ")
