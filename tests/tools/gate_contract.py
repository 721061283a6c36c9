#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks `lacuna check` and `lacuna diff --json` from outside: exit codes, JUnit, annotations, and thresholds from
measured noise. The keys of the comparison must be those of docs/diff-json.md. Both commands and `lacuna whatif` must
also handle a run without steps."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
# Text that a program may give as a name, and that XML, JSON and a workflow command must not take as theirs.
KERNEL = 'void k<float, "4">(T&&) 100% ]]> \x01\x1b\n::warning::µ'
FAILED = []


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print("wrong:", what)


def event(name, category, start, length, tid, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1 if category != "kernel" else 0, "tid": tid, "ts": start, "dur": length,
            "args": args}


def write_run(path, seed=0, kernels=10, length=80, jitter=0.0, marked=True):
    """30 steps of some launches and kernels of `length` us each; `jitter` scales the whole run; only `marked` ones are seen as steps."""
    chance = random.Random(seed)
    scale = 1 + jitter * (2 * chance.random() - 1)
    events, now, number = [], 1000.0, 0
    for step in range(30):
        start = now
        for _ in range(kernels):
            number += 1
            took = length * scale * (1 + 0.01 * chance.random())
            events.append(event("aten::mul", "cpu_op", now, 8, 1, **{"External id": number}))
            events.append(event("cudaLaunchKernel", "cuda_runtime", now + 1, 5, 1, correlation=number))
            events.append(event(KERNEL, "kernel", now + 10, took, 7, correlation=number, device=0, stream=7))
            now += 15 + took
        if marked:
            events.append(event(f"ProfilerStep#{step}", "user_annotation", start, now - start, 1))
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"traceEvents": events}, out)
    return path


class Gate:
    def __init__(self, lacuna, folder):
        self.lacuna, self.folder = lacuna, folder

    def __call__(self, *words):
        return subprocess.run([self.lacuna, *words], capture_output=True, text=True)

    def checked(self, run, baseline, *options):
        """Exit code, printed lines, parsed JUnit and the annotations."""
        junit = os.path.join(self.folder, "junit.xml")
        done = self("check", run, "--baseline", baseline, "--force", "-o", junit, "--github", *options)
        lines = done.stdout.splitlines()
        suite = ElementTree.parse(junit).getroot()
        return done.returncode, lines, suite, [line for line in lines if line.startswith("::error")]


def check_same(gate, base):
    code, lines, suite, errors = gate.checked(base, base)
    check(code == 0, f"a run that is its own baseline ends with {code}")
    check(suite.tag == "testsuite" and suite.get("failures") == "0" and not errors, "no failure where nothing is worse")
    names = [case.get("name") for case in suite]
    check(int(suite.get("tests")) == len(names) == len(lines), "one case and one line for each figure")
    check(names[:4] == [f"{what} per step" for what in ("kernels", "synchronisations", "copies", "memsets")],
          f"deterministic counts come first: {names}")
    check(names[-2:] == ["step time", "idle time per step"], f"times come last: {names}")


def check_worse(gate, base, folder):
    more = write_run(os.path.join(folder, "more.json"), kernels=12)
    code, lines, suite, errors = gate.checked(more, base)
    worse = [line for line in lines if line.startswith("worse") and "kernel void" not in line]
    failures = suite.findall("testcase/failure")
    check(code == 1, f"a run that got worse ends with {code}")
    check(len(worse) == len(failures) == len(errors) == int(suite.get("failures")) > 0, "each figure that is worse is in all three outputs")
    check(worse[0].startswith("worse  kernels per step: 10.0 before, 12.0 now"), f"the count comes first: {worse[:1]}")
    for line, failure, error in zip(worse, failures, errors):
        sentence = line[len("worse"):].strip()
        check(failure.get("message") == sentence, f"the message of {sentence}")
        check(error == f"::error title=lacuna check::{sentence.replace('%', '%25')}", f"the annotation of {sentence}")
        check('kernel void k<float, "4">(T&&) 100% ]]>' in failure.text, "the failure's text names the kernel as it is")
    check(not any(line.startswith("::warning") for line in lines), "a kernel's name is no workflow command")


def check_noise(gate, base, folder):
    slower = write_run(os.path.join(folder, "slower.json"), seed=1, length=84)
    noise = [write_run(os.path.join(folder, f"noise{i}.json"), seed=10 + i, jitter=0.12) for i in range(8)]
    code, lines, _, _ = gate.checked(slower, base)
    check(code == 1 and any(line.startswith("worse  step time") for line in lines), f"4 % more is worse without noise: {lines}")
    code, lines, _, _ = gate.checked(slower, base, "--noise", *noise)
    check(code == 0, f"4 % more is not worse where runs differ by 12 %: {lines}")
    more = write_run(os.path.join(folder, "more.json"), kernels=12)
    code, lines, _, _ = gate.checked(more, base, "--noise", *noise)
    check(code == 1 and lines[0].startswith("worse  kernels"), "no noise excuses more kernels")


def check_unable(gate, base, folder):
    text = os.path.join(folder, "text.txt")
    with open(text, "w", encoding="utf-8") as out:
        out.write("no trace\n")
    for what, words in {"no trace": (text, "--baseline", base), "no baseline": (base, "--baseline", text),
                        "no noise": (base, "--baseline", base, "--noise", text)}.items():
        done = gate("check", *words)
        check(done.returncode == 3 and "text.txt" in done.stderr, f"{what}: {done.returncode} {done.stderr}")
    done = gate("check", base, "--baseline", base, "-o", os.path.join(folder, "nowhere", "junit.xml"))
    check(done.returncode == 3 and "junit.xml" in done.stderr, f"a result that cannot be written: {done.returncode}")
    check(gate("check", base).returncode == 2, "without a baseline")
    other, more = (write_run(os.path.join(folder, f"same{i}.json"), seed=20 + i) for i in range(2))
    for what, noise in {"is the trace to check": [more, other], "is the baseline itself": [base], "is given twice": [more, more]}.items():
        done = gate("check", other, "--baseline", base, "--noise", *noise)
        check(done.returncode == 3 and what in done.stderr and not done.stdout, f"noise that {what}: {done.returncode} {done.stderr}")


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def check_diff(gate, base, folder):
    slower = write_run(os.path.join(folder, "slower.json"), seed=1, length=160)
    done = gate("diff", base, slower, "--json")
    diff = json.loads(done.stdout)
    check(done.returncode == 0 and diff["schema"] == "lacuna.diff/1", "diff --json")
    check(diff["step"]["verdict"] == "slower" and diff["tree"], "twice as long is slower")
    check(diff["step"]["low_ns"] <= diff["step"]["change_ns"] <= diff["step"]["high_ns"], "the change lies in its interval")
    with open(os.path.join(DOCS, "diff-json.md"), encoding="utf-8") as page:
        rows = [line.split("|")[1:3] for line in page if line.startswith("| `")]
    documented = set(re.findall(r"`([a-z_]+)(?:\[\])?`", "".join(key for key, _ in rows)))
    documented |= set(re.findall(r"`([a-z_]+_ns|steps)`", "".join(content for _, content in rows)))
    check(keys_of(diff) == documented, f"printed {sorted(keys_of(diff))}, documented {sorted(documented)}")


def check_changes(gate, base):
    """The lists of changes, and the explanation of a prediction."""
    listed = json.loads(gate("whatif", "--list", "--json").stdout)["changes"]
    text, table = gate("whatif", "--list").stdout, gate("whatif", "--list", "--markdown").stdout
    usage = gate("whatif", "--help").stdout
    for change in listed:
        check(change["form"] in text and change["form"] in usage and change["form"] in table, f"{change['name']} is not listed everywhere")
    check(all(len(line) <= 80 for line in text.splitlines()), "a line of the list is longer than 80 columns")
    check(gate("whatif", base, "--markdown").returncode == 2, "--markdown without --list")
    check(gate("whatif", base).returncode == 2, "whatif without a change")
    answer = json.loads(gate("whatif", base, "static_graph=on", "--explain", "--json").stdout)
    why = answer["explain"]
    now = why["changed_ns"]
    for limit in why["limits"]:
        if limit["of"] == "step":
            check(limit["before_ns"] == now and limit["held"] == (now != limit["after_ns"]), f"a limit breaks the chain: {limit}")
            now = limit["after_ns"]
    check(why["limits"] and now == why["result_ns"] == answer["predicted_ns_per_step"], f"the chain does not end at the prediction: {why}")
    check("explain" not in json.loads(gate("whatif", base, "static_graph=on", "--json").stdout), "an explanation that nobody wanted")
    text = gate("whatif", base, "static_graph=on", "--explain").stdout
    chain = text[text.index("how it was predicted"):].splitlines()
    check(all(len(line) <= 80 for line in chain) and "decided by" in chain[-1], f"explained: {chain}")


def check_without_steps(gate, base, folder):
    """All figures are then of the whole run, and text, JSON and notes state it."""
    whole = write_run(os.path.join(folder, "whole.json"), marked=False)
    why = "no steps were found"
    text = gate("whatif", whole, "kernel:k*0.5").stdout
    check(" in all" in text and " a step" not in text and why in text, f"whatif without steps: {text}")
    answer = json.loads(gate("whatif", whole, "kernel:k*0.5", "--json").stdout)
    check(answer["per"] == "run" and any(why in note for note in answer["notes"]), f"whatif --json without steps: {answer}")
    stepped = json.loads(gate("whatif", base, "kernel:k*0.5", "--json").stdout)
    check(stepped["per"] == "step" and stepped["notes"] == [], f"whatif --json with steps: {stepped}")
    check(answer["measured_ns_per_step"] > 20 * stepped["measured_ns_per_step"], "without steps the time is that of all 30")
    text = gate("diff", whole, whole).stdout
    check(text.startswith("run ") and " in all" in text and " a step" not in text and text.count(why) == 2, f"diff without steps: {text}")
    check("noise is not known" in text and "95 %" not in text, f"diff without steps knows no noise: {text}")
    orphan = os.path.join(folder, "orphan.json")
    with open(orphan, "w", encoding="utf-8") as out:
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 10, "args": {"device": 0, "stream": 7}}
        json.dump({"traceEvents": [kernel]}, out)
    done = gate("whatif", orphan, "host*0.5")
    check(done.returncode == 1 and why in done.stderr and "joined to its launches" in done.stderr, f"nothing to replay: {done.returncode} {done.stderr}")
    for before, after, kinds in ((whole, whole, ("run", "run")), (base, whole, ("step", "run")), (base, base, ("step", "step"))):
        diff = json.loads(gate("diff", before, after, "--json").stdout)
        check((diff["before_per"], diff["after_per"]) == kinds, f"what figures are of: {diff['before_per']}, {diff['after_per']}")
        check(len(diff["notes"]) == kinds.count("run") + (len(set(kinds)) > 1), f"notes of {kinds}: {diff['notes']}")
    done = gate("check", whole, "--baseline", whole)
    lines = done.stdout.splitlines()
    check(done.returncode == 0 and lines[0].startswith("note") and why in lines[0], f"check without steps: {done.returncode} {lines[:1]}")
    for words in ((whole, "--baseline", base), (base, "--baseline", whole), (base, "--baseline", base, "--noise", whole)):
        done = gate("check", *words)
        refused = "cannot be compared: no steps were found in " + whole in done.stderr
        check(done.returncode == 3 and refused and not done.stdout, f"check where only one run has steps: {done.returncode} {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lacuna", help="the command to check")
    lacuna = parser.parse_args().lacuna
    with tempfile.TemporaryDirectory() as folder:
        gate = Gate(lacuna, folder)
        base = write_run(os.path.join(folder, "base.json"))
        check_same(gate, base)
        check_worse(gate, base, folder)
        check_noise(gate, base, folder)
        check_unable(gate, base, folder)
        check_diff(gate, base, folder)
        check_changes(gate, base)
        check_without_steps(gate, base, folder)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
