# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The rows that a thread of kill_program has emitted after a number of steps, in groups with the numbers of each."""

import collections

# A group of rows that differ in their numbers alone. level: for `base`, the distance of the depth from the number; else
# the depth. colour: 1 where it follows from the number, 0 for none. other_end: whether the range ended on another
# thread.
Group = collections.namedtuple("Group", "table name domain category text level kind type flags colour other_end")

DOMAIN, PLAIN_NAMES, CYCLE = "kills", 61, 8
PUSHED, STARTED = 0, 1  # RangeKind
NO_PAYLOAD, U64, I64 = 0, 1, 2  # PayloadType
UNFINISHED, NO_START = 1, 2


def ranges(name, level, flags, kind=PUSHED, payload=U64, category="", colour=0):
    return Group("range", name, DOMAIN, category, "", level, kind, payload, flags, colour, 0)


MARK = Group("mark", "mark", DOMAIN, "", "", 0, 0, I64, 0, 0, 0)
COUNTER = Group("counter", "count", "", "", "", 0, 0, 0, 0, 0, 0)


def split(steps, deep):
    """Ranges that stay open, whole cycles, and steps of the cycle that was begun."""
    cycles, rest = divmod(max(steps - deep, 0), CYCLE)
    return min(steps, deep), cycles, rest


def events(steps, deep):
    """A range is one event, however much of it there is."""
    base, cycles, rest = split(steps, deep)
    return base + 5 * cycles + (0, 1, 2, 3, 4, 4, 5, 5)[rest]


def rows(steps, deep):
    """{group: its numbers in order}"""
    base, cycles, rest = split(steps, deep)
    begun = {name: cycles + (rest > at) for name, at in (("outer", 0), ("mark", 1), ("plain", 2), ("count", 3), ("across", 5))}
    ended = {"outer": cycles + (rest > 6), "plain": cycles + (rest > 4), "across": cycles}
    made = {ranges("base", 0, UNFINISHED): list(range(base)), MARK: [-1 - n for n in range(begun["mark"])], COUNTER: list(range(begun["count"]))}
    for flags in (0, UNFINISHED):
        def numbers(name):
            return list(range(ended[name], begun[name]) if flags else range(ended[name]))
        made[ranges("outer", deep, flags, category="outermost", colour=1)] = numbers("outer")
        made[ranges("plain", deep + 1, flags, payload=NO_PAYLOAD)] = [n % PLAIN_NAMES for n in numbers("plain")]
        made[ranges("across", 0, flags, kind=STARTED)] = numbers("across")
    return {group: numbers for group, numbers in made.items() if numbers}
