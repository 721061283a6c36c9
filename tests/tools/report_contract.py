#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the command from outside. The report's JSON has the keys that docs/report-json.md promises, and its sums hold.
The selections work, and every misuse ends with an error that names it."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

FAILED = []


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print("wrong:", what)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


KEYS = {
    "": {"schema", "trace", "devices", "steps", "ledger", "ledger_window", "unknown", "findings", "kernels", "memory", "memory_devices", "peak_edits", "loader", "launches",
         "communication", "efficiency", "self_overhead", "critical_path", "operators", "sequences"},
    "devices": {"id", "kind", "index", "uuid", "process", "span_ns", "busy_ns", "idle_ns", "kernel_ns", "memcpy_ns", "memset_ns",
                "comm_ns", "comm_exposed_ns", "kernels", "ledger"},
    "steps": {"index", "name", "start_ns", "dur_ns"},
    "findings": {"id", "kind", "severity", "cost_ns_per_step", "predicted_gain_ns_per_step", "confidence", "knob", "advice", "evidence"},
    "kernels": {"name", "count", "total_ns"},
}
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
BUSY = {"compute", "exposed_communication", "exposed_copy"}


def check_ledger(ledger, what):
    check({"total_ns", "entries", "unknown_ns"} <= set(ledger), f"keys of the ledger of {what}")
    check(all(set(entry) == {"cause", "ns"} for entry in ledger["entries"]), f"entries of the ledger of {what}")
    check(sum(entry["ns"] for entry in ledger["entries"]) == ledger["total_ns"], f"sum of the ledger of {what}")
    entries = {entry["cause"]: entry["ns"] for entry in ledger["entries"]}
    check(all(0 < band["ns"] <= entries[band["cause"]] for band in ledger["recording"]), f"bands of the ledger of {what}")
    check(sum(band["ns"] for band in ledger["recording"]) == ledger["recording_ns"], f"sum of the bands of {what}")


def check_prices(finding):
    """Nothing wins back more than it costs; what could be switched on need not cost anything."""
    cost, gain = finding["cost_ns_per_step"], finding["predicted_gain_ns_per_step"]
    if cost > 0 or finding["kind"] == "fault":
        check(gain <= finding["gain_high_ns_per_step"] <= cost, f"gain of {finding['id']}, and its cost")
    check(finding["accounted_ns_per_step"] <= cost, f"what is accounted for of {finding['id']}")


def check_keys(report):
    check(KEYS[""] <= set(report), "top-level keys")
    for name in ("devices", "steps", "findings", "kernels"):
        for row in report[name]:
            missing = KEYS[name] - set(row)
            check(not missing, f"{name}[] lacks {missing}")
    check({"peak_bytes", "at_ns", "live"} <= set(report["memory"]), "keys of memory")
    places = report["unknown"]
    parts = [places[f"{where}_steps_ns"] for where in ("before", "in", "between", "after")]
    check(sum(parts) == (report["ledger"]["unknown_ns"] if report["steps"] else 0), "where the unknown time lies")
    for finding in report["findings"]:
        longest = max(finding["base_ns_per_step"], max((step["dur_ns"] for step in report["steps"]), default=0))
        check(not report["steps"] or finding["cost_ns_per_step"] <= longest, f"cost of {finding['id']}")
        check_prices(finding)
    check(report["schema"].startswith("lacuna.report/"), "schema")
    for finding in report["findings"]:
        check(finding["kind"] in ("fault", "opportunity"), f"kind of {finding['id']}")
        check(0 <= finding["confidence"] <= 1, f"confidence of {finding['id']}")


def keys_of(value):
    """Every key of an object and of what lies within."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def check_documented(report):
    """The page names every key that is printed."""
    with open(os.path.join(DOCS, "report-json.md"), encoding="utf-8") as page:
        words = set(re.findall(r"`([a-z_]+)(?:\[\])?`", page.read()))
    data = {"parameter", "gradient", "activation", "optimizer", "input", "workspace", "communication", "cached", "other",
            "fetch", "decode", "augment", "collate"}
    missing = keys_of(report) - words - data
    check(not missing, f"keys that docs/report-json.md does not name: {missing}")


def check_recording(report):
    overhead = report["self_overhead"]
    check(sum(part["ns_per_step"] for part in overhead["parts"]) == overhead["ns_per_step"], "sum of the parts of self_overhead")
    check(all(part["ns_per_step"] >= 0 and part["kind"] for part in overhead["parts"]), "parts of self_overhead")
    check(overhead["known"] or not overhead["parts"], "self_overhead of which nothing is known")


def check_sums(report):
    check_recording(report)
    check_ledger(report["ledger"], "the run")
    for device in report["devices"]:
        check_ledger(device["ledger"], device["id"])
        busy = sum(e["ns"] for e in device["ledger"]["entries"] if e["cause"] in BUSY)
        check(busy == device["busy_ns"], f"busy time of {device['id']}")
        check(device["busy_ns"] + device["idle_ns"] == device["span_ns"], f"span of {device['id']}")
    check(sum(d["span_ns"] for d in report["devices"]) == report["ledger"]["total_ns"], "the run's ledger is the sum of the devices'")


def check_selections(lacuna, trace, whole):
    def report(*options):
        code, out, err = run(lacuna, "report", trace, "--json", *options)
        check(code == 0, f"{options}: {err}")
        return json.loads(out) if code == 0 else None

    some = report("--steps", "1:3")
    if some:
        steps = whole["steps"]
        check(some["trace"]["window_start_ns"] == steps[1]["start_ns"], "begin of --steps")
        check([step["index"] for step in some["steps"]] == [1, 2], "steps of --steps")
        check(some["trace"]["window_end_ns"] == steps[2]["start_ns"] + steps[2]["dur_ns"], "end of --steps")
    device = whole["devices"][0]["id"]
    one = report("--device", device)
    check(one and {d["id"] for d in one["devices"]} == {device}, "--device")
    rank = report("--rank", "1")
    check(rank and {d["rank"] for d in rank["devices"]} == {1}, "--rank")
    code, out, _ = run(lacuna, "report", trace, "--section", "kernels")
    check(code == 0 and "Kernels" in out and "Findings" not in out, "--section")


def kineto(name, start, dur, stream, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": dur,
            "args": {"device": 0, "stream": stream, **args}}


def check_communication(lacuna, folder):
    """Two collectives of two communicators, 100 us each; compute hides 60 us of the first."""
    group = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float"}
    events = [kineto("gemm", 0, 100, 7), kineto("ncclKernel_AllReduce", 40, 100, 20, **group, **{"Process Group Name": "7"}),
              kineto("ncclKernel_AllReduce", 200, 100, 20, **group, **{"Process Group Name": "8", "Process Group Description": "tensor"})]
    path = os.path.join(folder, "nccl.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"traceEvents": events}, out)
    code, out, err = run(lacuna, "report", path, "--json")
    check(code == 0, f"report of collectives: {err}")
    rows = {row["communicator"]: row for row in json.loads(out)["communication"]["collectives"]} if code == 0 else {}
    check(set(rows) == {"7", "tensor"}, f"communicators: {set(rows)}")
    if set(rows) == {"7", "tensor"}:
        check(rows["7"]["exposed_ns"] == 40_000 and rows["tensor"]["exposed_ns"] == 100_000, "exposed time by communicator")
        check(rows["7"]["bytes"] == 4000 and rows["7"]["total_ns"] == 100_000, "bytes and time by communicator")


def check_diff(lacuna, trace):
    code, out, err = run(lacuna, "diff", trace, trace, "--json")
    check(code == 0, f"diff: {err}")
    if code == 0:
        diff = json.loads(out)
        check(diff["step"]["verdict"] == "same" and not diff["tree"], "a run does not differ from itself")
    code, out, err = run(lacuna, "diff", trace, trace)
    check(code == 0 and "no change" in out, "diff as text")


def check_selections_refused(misused, trace, file):
    """A selection of nothing is refused with the reason."""
    misused("steps the wrong way round", 2, ("--steps 2:1", "the first step is behind the last"), "report", trace, "--steps", "2:1")
    misused("no steps at all", 2, ("--steps 0:0", "is empty", "0:1 is that one"), "report", trace, "--steps", "0:0")
    for option in ("--device", "--steps", "--cause", "-o"):
        misused(f"an empty {option}", 2, (option, "the value is empty"), "report", trace, option, "")
    path = file("plain.json", json.dumps({"traceEvents": [kineto("gemm", 0, 100, 7)]}))
    err = misused("a rank where there are none", 1, ("does not name its rank", "--rank 0"), "report", path, "--rank", "0")
    check("rank -1" not in err, "a rank that is none is named")
    err = misused("a device of another rank", 1, ("no device 'cuda:1' of rank 0 did any work here", "rank 1 on cuda:1"),
                  "report", trace, "--device", "cuda:1", "--rank", "0")
    check("no device 'cuda:1' did" not in err, "a device that did work is reported idle")
    event = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args": {"correlation": 1}}
    names = [f"void space::deep::kernel_{i}<{'other::Tile<128, 64>, ' * 20}float>(float*, int)" for i in range(9)]
    events = [{**event, "ts": 200 * i, "args": {"correlation": i + 1}} for i in range(9)]
    events += [kineto(name, 200 * i + 10, 100 + i, 7, correlation=i + 1) for i, name in enumerate(names)]
    path = file("long.json", json.dumps({"traceEvents": events}))
    err = misused("a kernel that is not there", 1, ("no kernel of the steps replayed", "kernel_8<Tile<128, 64>", ", and 3 more"),
                  "whatif", path, "kernel:poem*0.5")
    check(len(err) < 600 and "space::" not in err, f"names of kernels are short: {len(err)} bytes")
    code, out, err = run(sys.argv[1], "report", path, "--section", "memory")
    check(code == 0 and "lacuna run" in out and "profile_memory=True" in out.replace("\n ", " "), "how memory is recorded")


def check_damage(lacuna, misused, file, folder):
    """An unreadable input is reported with its place and a remedy."""
    run_lcn = os.path.join(folder, "run.lcn")
    with open(run_lcn, "rb") as whole:
        content = whole.read()
    cut = os.path.join(folder, "cut.lcn")
    with open(cut, "wb") as out:
        out.write(content[:3000])
    at = json.loads(run(lacuna, "info", cut, "--json")[1])["damage"][0]["offset"]
    misused("a trace that is cut", 1, (f"byte {at}", "what is readable of the trace holds no ranges", f"`lacuna recover {cut}`"), "report", cut)
    os.mkdir(cut + ".recording")
    misused("a cut trace with its recording", 1, f"`lacuna recover {cut}.recording`", "report", cut)
    path = file("times.json", '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": "?", "dur": 5}]}')
    misused("events without times", 1, ("byte 17", 'an event without a usable "ts"'), "report", path)
    path = os.path.join(folder, "run.pftrace")
    run(lacuna, "convert", "-q", run_lcn, "-o", path)
    with open(path, "rb+") as out:
        out.truncate(12)
    err = misused("a cut Perfetto trace", 1, ("only the beginning of one", "byte 0: the packet breaks off, and it is the first"), "report", path)
    check("was read" not in err, "nothing came before the first packet")
    misused("merge of one", 2, "name two traces or more", "merge", run_lcn, "-o", os.path.join(folder, "out.lcn"))
    link = os.path.join(folder, "again.lcn")
    os.symlink("run.lcn", link)
    misused("merge of one trace with itself", 1, ("again.lcn: is the same file as", "name every trace once"),
            "merge", run_lcn, link, "-o", os.path.join(folder, "out.lcn"))
    check(not os.path.exists(os.path.join(folder, "out.lcn")), "what is refused writes nothing")


def check_sql_errors(misused, trace):
    """An error of SQL shows its place and where to look."""
    help_ = "`lacuna query --schema`"
    misused("an error at the first word", 1, ("at character 1: ⟶SELEKT 1", help_), "query", trace, "SELEKT 1")
    misused("an error in the middle", 1, ("at character 17: SELECT name frm ⟶kernel", help_), "query", trace, "SELECT name frm kernel")
    misused("a statement that breaks off", 1, ("incomplete input", "WHERE (⟶)", help_), "query", trace, "SELECT name FROM kernel WHERE (")


def check_misuse(lacuna, trace, folder):
    def misused(what, code, expected, *words):
        got, out, err = run(lacuna, *words)
        expected = (expected,) if isinstance(expected, str) else expected
        check(got == code and all(word in err for word in expected) and "terminate" not in err and not out,
              f"{what}: exit {got} instead of {code}, with: {err.strip()[:400]}")
        return err

    def file(name, content):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)
        return path

    text = file("text.txt", "this is no trace\n")
    empty = file("empty.json", '{"traceEvents": []}')
    host = file("host.json", '{"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "load", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}')
    misused("not a trace", 1, "text.txt", "report", text)
    misused("no such file", 1, "nothing.lcn", "report", os.path.join(folder, "nothing.lcn"))
    misused("empty file", 1, "zero.lcn", "report", file("zero.lcn", ""))
    misused("empty trace", 1, "empty.json", "report", empty)
    misused("no steps", 1, "no steps", "report", host, "--steps", "0:1")
    misused("no device to replay", 1, "device", "whatif", host, "host*1")
    other = file("other.json", '{"schema": "lacuna.report/1"}')
    for command in (("whatif", trace, "amp=on"), ("report", trace)):
        misused("no calibration", 1, ("other.json: is no calibration", "`lacuna calibrate`"), *command, "--calibration", other)
        misused("no such calibration", 1, "none.json: cannot be read", *command, "--calibration", os.path.join(folder, "none.json"))
    misused("a Python that is none", 1, ("/nonexistent: ", "--python"), "calibrate", "--python", "/nonexistent")
    misused("unknown device", 1, "cuda:99", "report", trace, "--device", "cuda:99")
    misused("unknown rank", 1, "rank 77", "report", trace, "--rank", "77")
    misused("unknown section", 2, "poems", "report", trace, "--section", "poems")
    misused("unknown cause", 2, "laziness", "report", trace, "--cause", "laziness")
    misused("steps that are not there", 1, "0:", "report", trace, "--steps", "5:5000")
    misused("steps that are none", 2, "A:B", "report", trace, "--steps", "many")
    misused("diff with what is no trace", 1, "text.txt", "diff", trace, text)
    misused("an SQL error", 1, "syntax error", "query", trace, "SELEKT 1")
    misused("an unknown table", 1, "no such table", "query", trace, "SELECT * FROM poems")
    misused("an unknown column", 1, "no such column", "query", trace, "SELECT poem FROM kernel")
    misused("unknown knob", 2, "colour", "whatif", trace, "colour=red")
    misused("baseline that is none", 3, "text.txt", "check", trace, "--baseline", text)
    check_selections_refused(misused, trace, file)
    check_damage(lacuna, misused, file, folder)
    check_sql_errors(misused, trace)
    code, out, _ = run(lacuna, "report", host)
    check(code == 0 and "No device" in out, "a trace without a device is reported as such")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lacuna", help="the command to check")
    lacuna = parser.parse_args().lacuna
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "run.lcn")
        code, _, err = run(lacuna, "generate", "-o", trace, "--steps", "8", "--processes", "2")
        if code != 0:
            sys.exit(err)
        code, out, err = run(lacuna, "report", trace, "--json")
        if code != 0:
            sys.exit(err)
        whole = json.loads(out)
        check_keys(whole)
        check_documented(whole)
        check_sums(whole)
        check_selections(lacuna, trace, whole)
        check_misuse(lacuna, trace, folder)
        check_communication(lacuna, folder)
        check_diff(lacuna, trace)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
