# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a trace holds what was emitted: all of it, once, and unchanged."""

import collections
import json
import subprocess

import expected

# A thread as its program counted it. in_flight: it was killed, so the step after the last one may be in the trace.
Thread = collections.namedtuple("Thread", "pid tid steps in_flight")
# The contents of a trace: {(pid, tid): {group: numbers in order}}, {pid: dropped events}, the first and last moment. A trace without its end
# does not name its threads and processes: pid is None then, and tid the number of the thread in the trace, or of its counter.
Found = collections.namedtuple("Found", "threads dropped start end")

QUERY = """
SELECT 'range' AS "table", p.osPid AS pid, coalesce(t.osTid, r.thread) AS tid, CASE WHEN r.name LIKE 'plain %' THEN 'plain' ELSE r.name END AS name, r.domain AS domain,
  r.category AS category, r.text AS text, CASE r.name WHEN 'base' THEN r.depth - r.payload ELSE r.depth END AS level, r.kind AS kind,
  r.payloadType AS type, r.flags AS flags,
  CASE r.colour WHEN 0 THEN 0 WHEN 4278190080 | (r.payload & 16777215) THEN 1 ELSE 2 END AS colour, r.endThread <> 0 AS other_end,
  min(r.startNs) AS start, max(r.startNs + r.durNs) AS end, count(*) AS n,
  group_concat(CASE WHEN r.name LIKE 'plain %' THEN substr(r.name, 7) ELSE r.payload END) AS numbers
FROM range r LEFT JOIN thread t ON t.id = r.thread LEFT JOIN process p ON p.id = t.process
GROUP BY 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
UNION ALL
SELECT 'mark', p.osPid, coalesce(t.osTid, m.thread), m.name, m.domain, m.category, m.text, 0, 0, m.payloadType, 0, m.colour <> 0, 0, min(m.timeNs), max(m.timeNs), count(*),
  group_concat(m.payload)
FROM mark m LEFT JOIN thread t ON t.id = m.thread LEFT JOIN process p ON p.id = t.process
GROUP BY 2, 3, 4, 5, 6, 7, 10, 12
UNION ALL
SELECT 'counter', p.osPid, CAST(substr(c.name, 13) AS INTEGER), 'count', '', '', c.unit, 0, 0, 0, 0, 0, 0, min(s.timeNs), max(s.timeNs), count(*),
  group_concat(CAST(s.value AS INTEGER))
FROM counter_sample s JOIN counter_track c ON c.id = s.track LEFT JOIN process p ON p.id = c.process WHERE c.name LIKE 'kills.count %'
GROUP BY 2, 3, 7
UNION ALL
SELECT 'drop', p.osPid, 0, '', '', '', '', 0, 0, 0, 0, 0, 0, min(d.timeNs), max(d.timeNs), sum(d.count), ''
FROM "drop" d LEFT JOIN process p ON p.id = d.process GROUP BY 2"""


def read(lacuna, trace, environment):
    """The rows that a trace holds, or a text with the reason why it cannot be read."""
    done = subprocess.run([lacuna, "query", str(trace), "--json", QUERY], capture_output=True, env=environment, timeout=120)
    if done.returncode != 0:
        return f"{trace.name} cannot be queried: {done.stderr.decode(errors='replace').strip()[:300]}"
    return found(json.loads(done.stdout))


def found(rows):
    threads, dropped, moments = collections.defaultdict(dict), {}, []
    for row in rows:
        if row["table"] == "drop":
            dropped[row["pid"]] = row["n"]
            continue
        moments += [row["start"], row["end"]]
        group = expected.Group(*(row[name] for name in expected.Group._fields))
        numbers = [int(number) for number in row["numbers"].split(",")]
        threads[row["pid"], row["tid"]][group] = numbers if len(numbers) == row["n"] else [None] * row["n"]
    return Found(dict(threads), dropped, min(moments, default=None), max(moments, default=None))


def difference(wanted, there):
    """How two sets of rows differ, in words; nothing where they are the same."""
    for group in sorted(set(wanted) | set(there)):
        a, b = wanted.get(group, []), there.get(group, [])
        if a == b:
            continue
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        return (f"{group.table} {group.name!r} {tuple(group[2:])}: {len(a)} emitted, {len(b)} in the trace; number {at} is {b[at : at + 3]}, "
                f"emitted were {a[at : at + 3]}")
    return ""


def complete(threads, there, deep):
    """Problems of a trace that lost nothing."""
    problems = []
    for thread in threads:
        rows = there.threads.get((thread.pid, thread.tid), {})
        wrong = difference(expected.rows(thread.steps, deep), rows)
        if wrong and thread.in_flight and not difference(expected.rows(thread.steps + 1, deep), rows):
            wrong = ""
        if wrong:
            problems.append(f"thread {thread.tid} of process {thread.pid} after {thread.steps} steps: {wrong}")
    return problems + strangers(threads, there)


def strangers(threads, there):
    known = {(thread.pid, thread.tid) for thread in threads}
    return [f"rows of a thread that emitted nothing: {who}: {dict((g.name, len(n)) for g, n in rows.items())}"
            for who, rows in there.threads.items() if who not in known]


def is_part_of(part, all_numbers):
    """Whether the numbers are there in that order, each once."""
    rest = iter(all_numbers)
    return all(number in rest for number in part)


def shape(group):
    """The group of the same rows with their beginning and end, wherever they lie in the nesting: what was dropped around them changes that."""
    return group._replace(flags=0, level=0, other_end=0)


def lossy(threads, there, deep):
    """Problems of a trace that may drop events, and counts them."""
    problems, recorded, least, most = [], collections.Counter(), collections.Counter(), collections.Counter()
    for (pid, _), rows in there.threads.items():
        recorded[pid] += sum(len(numbers) for numbers in rows.values())
    for thread in threads:
        least[thread.pid] += expected.events(thread.steps, deep)
        most[thread.pid] += expected.events(thread.steps + (1 if thread.in_flight else 0), deep)
        problems += wrong_rows(thread, there.threads.get((thread.pid, thread.tid), {}), deep)
    for pid in least:
        counted = recorded[pid] + there.dropped.get(pid, 0)
        if not least[pid] <= counted <= most[pid]:
            problems.append(f"process {pid}: {recorded[pid]} recorded + {there.dropped.get(pid, 0)} dropped = {counted}, emitted {least[pid]} to {most[pid]}")
    return problems + strangers(threads, there)


def fits_nameless(group, numbers, emitted):
    """Whether they can be the numbers of rows that have lost their texts."""
    kind = (group.table, group.kind, group.type)
    return group.type == expected.NO_PAYLOAD or any(is_part_of(numbers, all_numbers) for other, all_numbers in emitted.items()
                                                    if (other.table, other.kind, other.type) == kind)


def wrong_rows(thread, rows, deep, lost_texts=False):
    """Rows of a thread that it has not emitted, or not in this order, or not once."""
    emitted, there = collections.defaultdict(list), collections.defaultdict(list)
    for group, numbers in expected.rows(thread.steps + (1 if thread.in_flight else 0), deep).items():
        emitted[shape(group)] += numbers
    for group, numbers in rows.items():
        if not group.flags & expected.NO_START:
            there[shape(group)].append(numbers)
    for group, parts in there.items():
        if lost_texts and group.name == "" and all(fits_nameless(group, part, emitted) for part in parts):
            continue
        allowed = emitted.get(group, [])
        repeated = group.name != "plain" and len(set(sum(parts, []))) != sum(map(len, parts))
        if repeated or not all(is_part_of(part, allowed) for part in parts):
            yield f"thread {thread.tid} of process {thread.pid}: rows of {group.table} {group.name!r} {tuple(group[2:])} that were not emitted, or twice"


def part(threads, there, deep, lost_texts=False):
    """Problems of a trace that may end anywhere: what it holds was emitted, in this order, once. A damaged file may have lost its texts."""
    named = there._replace(threads={who: rows for who, rows in there.threads.items() if who[0] is not None})
    problems = strangers(threads, named)
    for thread in threads:
        problems += wrong_rows(thread, there.threads.get((thread.pid, thread.tid), {}), deep, lost_texts)
    for (pid, number), rows in there.threads.items():
        if pid is None and all(list(wrong_rows(thread, rows, deep, lost_texts)) for thread in threads):
            problems.append(f"rows of thread {number} of the trace that no thread has emitted: {dict((g.name, len(n)) for g, n in rows.items())}")
    return problems
