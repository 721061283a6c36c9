# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Every command that reads a trace, and what must hold of what it writes."""

import pathlib
import re
from dataclasses import dataclass, field

import verdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ("process", "thread", "device", "queue", "clock", "environment", "range", "mark", "api_call", "kernel", "memcpy", "memset", "sync", "allocation", "counter_track", "counter_sample",
          "stack_frame", "cpu_sample", "thread_state", "flow", "log", "drop", "overhead", "arg_set", "arg", "python_sample")
QUERIES = ("SELECT count(*) AS n, sum(durNs) AS ns FROM kernel", "SELECT name, startNs, durNs FROM range ORDER BY durNs DESC LIMIT 20",
           "SELECT * FROM allocation LIMIT 20", "SELECT * FROM arg LIMIT 50", "SELECT * FROM process, thread LIMIT 20")
# Statements that a query must not run; they are refused.
FORBIDDEN = ("SELECT fts3_tokenizer('simple', x'4141414141414141')", "SELECT load_extension('x')", "VACUUM INTO 'out/copy.db'", "ATTACH 'out/other.db' AS o",
             "PRAGMA writable_schema = ON", "CREATE VIRTUAL TABLE temp.t USING fts4(a)", "SELECT writefile('out/x', 'x')", "SELECT readfile('/etc/passwd')", "")
# Statements that cost more than they seem to; each is refused or done within the limits.
COSTLY = ("SELECT json_extract(replace(hex(zeroblob(50000)), '0', '['), '$')", "SELECT " + "(" * 2000 + "1" + ")" * 2000, "SELECT length(zeroblob(2147483647))",
          "SELECT replace(hex(zeroblob(400000000)), '0', 'abcdefgh')", "SELECT 'a' LIKE replace(hex(zeroblob(20000)), '0', '%a')", "SELECT 1; SELECT 2")
FORMATS = {"lcn": None, "chrome": lambda data: verdict.strict_json(data, repeated_keys=True), "perfetto": None, "nsys": None, "folded": verdict.stacks,
           "speedscope": verdict.strict_json, "csv": verdict.table, "table-json": None}
SECTIONS = ("summary", "ledger", "causes", "findings", "devices", "steps", "kernels", "sequences", "graphs", "operators", "ranges", "python", "calls", "launches", "loader", "memory", "communication", "copies",
            "efficiency")
CAUSES = ("compute", "exposed_communication", "exposed_copy", "profiler", "synchronisation", "loader_wait", "driver_call", "off_cpu", "host_work", "launch", "dependency", "unknown")
CHANGES = ("loader.workers=4", "loader.workers=0", "loader.workers=1000000", "loader.prefetch=8", "loader.pin=on", "static_graph=on", "fuse=on", "amp=bf16", "autotune=on", "zero_grad=none",
           "optimizer.fused=on", "conv_bias=off", "overlap=on", "debug=off", "sync=off", "allocator=cached", "kernel:*0.5", "kernel:gemm*0", "kernel:*1000", "copy*0", "communication*0.1", "call:cuda*0",
           "start-delay*0", "loader*0.25", "off-cpu*0.5", "cores-taken*0", "replication*0", "through-host*0.5", "conversion*0", "repeats=joined", "batch*4", "batch*0.001", "host*0", "host*1000",
           'call:"cudaDeviceSynchronize"*0')
PAGES = ("overview", "timeline", "steps", "memory", "kernels", "operators", "flame", "sql", "compare")
TABS = ("alive", "edits", "allocator", "leaks", "advice")
BUDGETS = ("rows=10", "strings=10", "text=1k", "values=100", "rows=1k,strings=1k,text=100k,values=1k", "rows=1G,strings=1G,text=1G,values=1G")
# Shared memory of its own, with the recording in it as a killed run leaves it.
DOCTOR = ("mount -t tmpfs none /dev/shm || exit 99; cp -r --sparse=always MUTANT /dev/shm/lacuna-abcdef 2>/dev/null; "
          "printf '%016x /nowhere\\n' 7 > /dev/shm/lacuna-abcdef/owner; touch -d '1 hour ago' /dev/shm/lacuna-abcdef; exec LACUNA doctor OPTION")


@dataclass
class Command:
    words: list  # MUTANT, GOOD, RANK and out/NAME stand for files
    codes: tuple = (0, 1, 2)
    silent: tuple = ()  # codes that mean no more than what is printed
    printed: object = verdict.plain  # of standard output
    writes: dict = field(default_factory=dict)  # a file in out/ and what must hold of it; none: it opens again
    gui: bool = False
    message: bytes = b"lacuna: error:"  # which the others come with
    makes: str = ""  # the file that the commands after it read
    takes_folder: bool = False  # which may be gone afterwards
    shell: str = ""

    @property
    def name(self):
        return " ".join(str(word) for word in self.words)


def lines_of_json(data):
    return next((wrong for wrong in map(verdict.strict_json, data.splitlines()) if wrong), "")


def picture(data):
    return "" if data.startswith(b"\x89PNG") else "is no PNG"


def documented_queries():
    """Those that docs/query.md teaches."""
    page = ROOT / "docs/query.md"
    found = re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.S) if page.exists() else []
    return [" ".join(re.sub(r"--.*", "", sql).split()) for sql in found]


WORKED = documented_queries() or list(QUERIES)


def making_commands(kind, can_hide):
    """Commands for an input that is no trace yet. They make the trace that all other commands read."""
    if kind == "capture":
        yield Command(["convert", "-q", "MUTANT", "-o", "out/made.lcn"], writes={"made.lcn": None}, makes="made.lcn")
    if kind == "recording":
        yield Command(["recover", "--keep", "MUTANT", "-o", "out/made.lcn"], writes={"made.lcn": None}, makes="made.lcn")
        yield Command(["recover", "--json", "MUTANT", "-o", "out/again.lcn"], printed=verdict.strict_json, writes={"again.lcn": None}, takes_folder=True)
        yield Command(["info", "MUTANT"])
        yield Command(["convert", "-q", "MUTANT", "-o", "out/none.lcn"], writes={"none.lcn": None})
        if can_hide:
            for option in ("--json", "--clean"):
                yield Command(["doctor", option], printed=verdict.strict_json if option == "--json" else verdict.plain, silent=(1,), shell=DOCTOR.replace("OPTION", option))


def of_report(rng):
    yield Command(["report", "MUTANT"])
    yield Command(["report", "--json", "MUTANT"], printed=verdict.strict_json)
    yield Command(["report", "MUTANT", "-o", "out/page.html"], writes={"page.html": verdict.page})
    for section in rng.sample(SECTIONS, 4):
        yield Command(["report", "MUTANT", "--section", section, "--width", str(rng.choice((40, 61, 100, 200)))])
    yield Command(["report", "MUTANT", "--section", ",".join(SECTIONS), "--steps", rng.choice(("0:1", "1:3", "0:99999999999", "2:", "5:2"))])
    yield Command(["report", "MUTANT", "--cause", ",".join(rng.sample(CAUSES, 1))])
    yield Command(["report", "MUTANT", "--json", "--device", rng.choice(("cuda:0", "cpu:0", "cuda:99999999999", "other:1")), "--rank", rng.choice(("0", "1", "2147483647"))], printed=verdict.strict_json)


def of_whatif(rng):
    yield Command(["whatif", "MUTANT", "host*0.5", "sync=off", "--json"], printed=verdict.strict_json)
    for count in (1, 1, 2, 4):
        json = rng.random() < 0.5
        yield Command(["whatif", "MUTANT", *rng.sample(CHANGES, count)] + (["--json"] if json else []), printed=verdict.strict_json if json else verdict.plain)


# A join of rows that a mutant repeats costs what SQL makes of it; what a query promises is to end by then.
IN_TIME = ["--time-limit", "15"]


def of_query(rng):
    for number, sql in enumerate(rng.sample(QUERIES, 2) + rng.sample(WORKED, 2)):
        form = (["--json"], ["--csv"], [])[(number + rng.randrange(3)) % 3]
        yield Command(["query", "MUTANT", sql] + form + IN_TIME, printed={"--json": verdict.strict_json, "--csv": verdict.table}[form[0]] if form else verdict.plain)
    for form, holds in (("--csv", verdict.table), ("--json", verdict.strict_json), ("", verdict.plain)):
        yield Command(["query", "MUTANT", f"SELECT * FROM {rng.choice(TABLES)} LIMIT 200"] + ([form] if form else []), printed=holds)
    yield Command(["query", "MUTANT", rng.choice(FORBIDDEN)], codes=(1, 2))
    yield Command(["query", "MUTANT", rng.choice(COSTLY)] + IN_TIME)


def of_convert(rng):
    for form, holds in FORMATS.items():
        name = f"converted.{form}"
        table = ["--table", rng.choice(TABLES)] if form in ("csv", "table-json") and rng.random() < 0.7 else []
        yield Command(["convert", "-q", "MUTANT", "-o", f"out/{name}", "--to", form] + table, writes={name: lines_of_json if form == "table-json" else holds})
    form = rng.choice(("chrome", "speedscope", "folded", "csv"))
    ending = rng.choice((".gz", ".zst"))
    yield Command(["convert", "-q", "MUTANT", "-o", f"out/packed{ending}", "--to", form], writes={f"packed{ending}": verdict.unpacked(ending, FORMATS[form])})


def of_others(rng):
    yield Command(["info", "MUTANT"])
    yield Command(["info", "--json", "MUTANT"], printed=verdict.strict_json)
    yield Command(["info", "--verify", "MUTANT"], silent=(1,))
    yield Command(["diff", "MUTANT", "MUTANT", "--json"], printed=verdict.strict_json)
    yield Command(["diff", *rng.sample(("GOOD", "MUTANT"), 2), "--rows", rng.choice(("0", "3", "2147483647"))])
    junit = {"junit.xml": verdict.xml_document}
    yield Command(["check", "MUTANT", "--baseline", "GOOD", "--github", "-o", "out/junit.xml"], codes=(0, 1, 2, 3), silent=(1,), writes=junit)
    yield Command(["check", "GOOD", "--baseline", "MUTANT", "--noise", "RANK", "-o", "out/junit.xml"], codes=(0, 1, 2, 3), silent=(1,), writes=junit)
    yield Command(["merge", "MUTANT", "GOOD", "-o", "out/merged.lcn"], writes={"merged.lcn": None})
    form = rng.choice(("lcn", "chrome", "perfetto", "nsys"))
    yield Command(["merge", *rng.sample(("MUTANT", "RANK", "GOOD"), 3), "-o", "out/merged", "--to", form], writes={"merged": FORMATS[form]})
    yield Command(["recover", "MUTANT", "-o", "out/recovered.lcn"], writes={"recovered.lcn": None})
    yield Command(["recover", "--json", "MUTANT", "-o", "out/recovered.lcn"], printed=verdict.strict_json, writes={"recovered.lcn": None})


def confined(rng):
    """With a small budget or a great one, in the sandbox or outside."""
    yield Command(["info", "MUTANT", "--budget", rng.choice(BUDGETS)])
    yield Command(["report", "MUTANT", "--json", "--sandbox", "on", "--budget", rng.choice(BUDGETS[:5])], printed=verdict.strict_json)
    yield Command(["convert", "-q", "MUTANT", "-o", "out/confined.lcn", "--sandbox", rng.choice(("on", "off"))], writes={"confined.lcn": None})


def refused(rng):
    """Files that are there: none may be replaced unless --force is given, and no input ever."""
    there = rng.choice(("GOOD", "RANK"))
    yield Command(rng.choice((["merge", "MUTANT", "GOOD", "-o", there], ["merge", "GOOD", "MUTANT", "--force", "-o", "MUTANT"], ["merge", "MUTANT", "GOOD", "RANK", "--force", "-o", "GOOD"],
                              ["convert", "-q", "MUTANT", "-o", there], ["convert", "-q", "MUTANT", "--force", "-o", "MUTANT", "--to", "lcn"], ["recover", "MUTANT", "-o", there],
                              ["recover", "MUTANT", "--force", "-o", "MUTANT"], ["report", "MUTANT", "-o", there])), codes=(1, 2))


def of_gui(number):
    page = PAGES[number % len(PAGES)]
    more = (["--finding", "1"], ["--select", "a"], ["--play", CHANGES[number % len(CHANGES)]], ["--range", "1us:1s"], [], [])[number % 6] if page in ("overview", "timeline") else []
    if page == "memory":
        more = ["--tab", TABS[number // len(PAGES) % len(TABS)]]
    files = ["MUTANT", "GOOD"] if page == "compare" else ["MUTANT"]
    yield Command(files + ["--screenshot", "out/picture.png", "--page", page, "--size", "1280x800", "--theme", ("dark", "light")[number % 2]] + more, writes={"picture.png": picture}, gui=True,
                  message=b"lacuna-gui: ")


def all_commands(rng, gui_number=None):
    for part in (of_others, of_report, of_whatif, of_query, of_convert, confined, refused):
        yield from part(rng)
    if gui_number is not None:
        yield from of_gui(gui_number)
