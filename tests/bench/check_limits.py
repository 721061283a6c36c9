# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""check_limits.py LIMITS [--json]: reads a benchmark's output with --json, and prints whether each figure keeps to its
limit. Ends with 1 when one does not, or when there was none to check."""

import json
import pathlib
import sys

KINDS = {"<=": (lambda value, limit: value <= limit, "at most"), ">=": (lambda value, limit: value >= limit, "at least")}


def read_limits(path):
    limits = {}
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            name, kind, limit = words
            limits[name] = (kind, float(limit))
    return limits


def judge(figure, limits):
    """The figure with what it is held to, and whether it keeps to it; None where it has no limit."""
    kind, limit = limits.get(figure["name"], (None, None))
    if kind is None:
        return None
    holds, words = KINDS[kind]
    return {"limit": f"{words} {limit:g}", "ok": holds(figure["value"], limit)}


def show(figure, verdict, as_json):
    if as_json:
        print(json.dumps({**figure, **(verdict or {})}), flush=True)
        return
    words = f"{'ok' if verdict['ok'] else 'MISSED'}: {verdict['limit']}" if verdict else ""
    print(f"{figure['name']:<44} {figure['value']:>12.6g} {figure['unit']:<10} {words}".rstrip(), flush=True)


def main():
    limits = read_limits(sys.argv[1])
    seen, missed, checked = set(), [], 0
    for line in sys.stdin:
        if not line.startswith("{"):
            continue
        figure = json.loads(line)
        verdict = judge(figure, limits)
        show(figure, verdict, "--json" in sys.argv[2:])
        seen.add(figure["name"])
        checked += verdict is not None
        if verdict and not verdict["ok"]:
            missed.append(figure["name"])
    rooms = {name.split(".")[0] for name in seen}
    absent = [name for name in limits if name.split(".")[0] in rooms and name not in seen]
    if absent:
        print(f"not measured: {', '.join(absent)}", file=sys.stderr)
    if checked == 0:
        sys.exit("no figure here has a limit, so nothing was checked")
    if missed:
        sys.exit(f"{len(missed)} of {checked} limits missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
