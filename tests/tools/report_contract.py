#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the command from outside: the report's JSON has the keys that docs/report-json.md promises and its sums hold, the selections
work, and every misuse is answered with an error that names it."""
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
    "": {"schema", "trace", "devices", "steps", "ledger", "findings", "kernels", "memory", "memory_devices", "peak_edits", "loader", "launches",
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


def check_keys(report):
    check(KEYS[""] <= set(report), "top-level keys")
    for name in ("devices", "steps", "findings", "kernels"):
        for row in report[name]:
            missing = KEYS[name] - set(row)
            check(not missing, f"{name}[] lacks {missing}")
    check({"peak_bytes", "at_ns", "live"} <= set(report["memory"]), "keys of memory")
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
    """What is printed is in the page."""
    with open(os.path.join(DOCS, "report-json.md"), encoding="utf-8") as page:
        words = set(re.findall(r"`([a-z_]+)(?:\[\])?`", page.read()))
    data = {"parameter", "gradient", "activation", "optimizer", "input", "workspace", "communication", "cached", "other",
            "fetch", "decode", "augment", "collate"}
    missing = keys_of(report) - words - data
    check(not missing, f"keys that docs/report-json.md does not name: {missing}")


def check_sums(report):
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


def check_misuse(lacuna, trace, folder):
    def misused(what, says, *words):
        code, out, err = run(lacuna, *words)
        check(code != 0 and says in err and "terminate" not in err, f"{what}: exit {code}, said: {err.strip()[:200]}")

    def file(name, content):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)
        return path

    text = file("text.txt", "this is no trace\n")
    empty = file("empty.json", '{"traceEvents": []}')
    host = file("host.json", '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}')
    misused("not a trace", "text.txt", "report", text)
    misused("no such file", "nothing.lcn", "report", os.path.join(folder, "nothing.lcn"))
    misused("empty file", "zero.lcn", "report", file("zero.lcn", ""))
    misused("empty trace", "empty.json", "report", empty)
    misused("no steps", "no steps", "report", host, "--steps", "0:1")
    misused("no device to replay", "device", "whatif", host, "host*1")
    misused("unknown device", "cuda:99", "report", trace, "--device", "cuda:99")
    misused("unknown rank", "rank 77", "report", trace, "--rank", "77")
    misused("unknown section", "poems", "report", trace, "--section", "poems")
    misused("unknown cause", "laziness", "report", trace, "--cause", "laziness")
    misused("steps that are not there", "0:", "report", trace, "--steps", "5:5000")
    misused("steps that are none", "A:B", "report", trace, "--steps", "many")
    misused("diff with what is no trace", "text.txt", "diff", trace, text)
    misused("an SQL error", "syntax error", "query", trace, "SELEKT 1")
    misused("an unknown table", "no such table", "query", trace, "SELECT * FROM poems")
    misused("an unknown column", "no such column", "query", trace, "SELECT poem FROM kernel")
    misused("unknown knob", "colour", "whatif", trace, "colour=red")
    misused("baseline that is none", "text.txt", "check", trace, "--baseline", text)
    code, out, _ = run(lacuna, "report", host)
    check(code == 0 and "No device" in out, "a trace without a device is reported as such")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lacuna", help="the command to check")
    lacuna = parser.parse_args().lacuna
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "run.lcn")
        code, _, err = run(lacuna, "generate", trace, "--steps", "8", "--processes", "2")
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
