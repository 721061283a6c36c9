#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_query anew: the worked queries of docs/query.md and the statements of tests/attack/commands.py."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = ROOT / "tests/fuzz/corpus/query"
sys.path.insert(0, str(ROOT / "tests/attack"))
import commands  # noqa: E402

LONGEST = 5000


def statements():
    page = (ROOT / "docs/query.md").read_text(encoding="utf-8")
    for title, sql in re.findall(r"^\*\*([^*\n]+)\*\*\n+```sql\n(.*?)```", page, re.S | re.M):
        yield "docs-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"), sql.strip()
    for group in ("QUERIES", "FORBIDDEN", "COSTLY"):
        for number, sql in enumerate(getattr(commands, group)):
            yield f"attack-{group.lower()}-{number}", sql


SEEDS.mkdir(parents=True, exist_ok=True)
for name, sql in statements():
    if 0 < len(sql) <= LONGEST:
        (SEEDS / name).write_text(sql, encoding="utf-8")
