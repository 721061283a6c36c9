#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the predictions of two builds: plays every change that NEW lists, with several values, and pairs of changes, on each
file. Exit codes, errors and JSON must be equal, but for fields that NEW adds. Without files it plays traces of tests/data and
generated ones.

same_predictions.py OLD NEW [FILE…] [--pairs N] [--jobs N]"""
import argparse
import concurrent.futures
import glob
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUMBERS = (1, 2, 4, 16)
FACTORS = ("0", "0.5", "1", "2.5")
PATTERNS = ("", ":*", ":gemm", ":elementwise", ":a", ":Memcpy", ":Launch", ":Synchronize", ':"cudaMemcpyAsync"')


def run(command, *words):
    done = subprocess.run([command, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def listed(command):
    """The changes that a build lists."""
    code, out, error = run(command, "whatif", "--list", "--json")
    if code != 0:
        sys.exit(f"{command} whatif --list --json: {error}")
    return json.loads(out)["changes"]


def words(change):
    """The words to play for a change."""
    name = change["name"]
    if change["argument"] == "word":
        return [f"{name}={value}" for value in change["values"]]
    if change["argument"] == "number":
        return [f"{name}={number}" for number in NUMBERS]
    if change["argument"] == "factor":
        patterns = PATTERNS if change["names"] != "none" else ("",)
        return [f"{name}{pattern}*{factor}" for pattern in patterns for factor in FACTORS]
    return [f"{name}=1"]


def added(old, new, path="$"):
    """Differences of two JSON values, but for keys that only the new one has."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [text for key in old for text in
                (added(old[key], new[key], f"{path}.{key}") if key in new else [f"{path}.{key}: gone"])]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [text for i, (a, b) in enumerate(zip(old, new)) for text in added(a, b, f"{path}[{i}]")]
    return [] if old == new else [f"{path}: {old!r}, now {new!r}"]


def differences(old, new):
    """The differences between two results of run()."""
    if old[0] != new[0]:
        return [f"exit code {old[0]}, now {new[0]}: {old[2].strip()} / {new[2].strip()}"]
    texts = [] if old[2] == new[2] else [f"error {old[2].strip()!r}, now {new[2].strip()!r}"]
    if old[0] != 0:
        return texts
    return texts + added(json.loads(old[1]), json.loads(new[1]))


def default_files(command, folder):
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "data", "**", "*.lcn"), recursive=True))
    for seed, processes in ((1, 1), (2, 1), (3, 2)):
        path = os.path.join(folder, f"generated-{seed}.lcn")
        code, _, error = run(command, "generate", "-o", path, "--steps", "8", "--layers", "4", "--seed", str(seed),
                             "--processes", str(processes))
        if code != 0:
            sys.exit(f"generate: {error}")
        files.append(path)
    return files


def self_test():
    base = (0, '{"a": 1, "notes": ["x"]}', "")
    assert differences(base, (0, '{"a": 1, "notes": ["x"], "b": 2}', "")) == []
    assert differences(base, (0, '{"a": 2, "notes": ["x"]}', "")) == ["$.a: 1, now 2"]
    assert differences(base, (0, '{"notes": ["x"]}', "")) == ["$.a: gone"]
    assert len(differences(base, (0, '{"a": 1, "notes": ["y"]}', ""))) == 1
    assert len(differences(base, (0, '{"a": 1, "notes": []}', ""))) == 1
    assert len(differences(base, (1, "", "wrong"))) == 1
    assert len(differences((1, "", "wrong"), (1, "", "not right"))) == 1
    assert words({"name": "k", "argument": "word", "values": ["on"]}) == ["k=on"]
    assert len(words({"name": "k", "argument": "factor", "names": "optional"})) == len(PATTERNS) * len(FACTORS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?")
    parser.add_argument("new", nargs="?")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--pairs", type=int, default=60, help="pairs of changes a file, chosen by a fixed seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if not args.new:
        parser.error("name two builds' lacuna")
    singles = [word for change in listed(args.new) for word in words(change)]
    pairs = random.Random(1).sample(list(itertools.combinations(singles, 2)), args.pairs)
    wanted = [[word] for word in singles] + [list(pair) for pair in pairs]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        failed = compared = predicted = 0
        for path in args.files or default_files(args.new, folder):
            def compare(changes, path=path):
                words_ = ("whatif", path, *changes, "--json")
                old = run(args.old, *words_)
                return old[0], differences(old, run(args.new, *words_))
            for changes, (code, wrong) in zip(wanted, pool.map(compare, wanted)):
                compared += 1
                predicted += code == 0
                failed += bool(wrong)
                for text in wrong:
                    print(f"{path} {' '.join(changes)}: {text}")
        print(f"{compared} compared, of which {predicted} predict; {failed} differ")
        if predicted == 0:
            sys.exit("nothing was predicted")
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
