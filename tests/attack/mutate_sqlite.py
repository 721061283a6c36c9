# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of SQLite databases: of their pages, their rows, and their schema."""

import os
import sqlite3
import tempfile

import mutate_bytes
import mutate_json

VALUES = [None, 0, 1, -1, 2**31, 2**63 - 1, -(2**63), 1e999, -1e999, 1e300, "", "text", "\x1b[2J\n", "a" * 70000, b"\x00\xff", b""]
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


def edited(change):
    def mutation(random, data):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "db")
        try:
            with open(path, "wb") as file:
                file.write(data)
            base = sqlite3.connect(path, isolation_level=None)
            try:
                tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                change(random, base, tables)
            finally:
                base.close()
            with open(path, "rb") as file:
                return file.read()
        except sqlite3.Error:  # the data was no database any more, or refuses this change
            return mutate_bytes.flip(random, data)
        finally:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)
    mutation.__name__ = change.__name__
    return mutation


def columns(base, table):
    return [row[1] for row in base.execute(f'PRAGMA table_info("{table}")')]


@edited
def values(random, base, tables):
    for _ in range(random.choice((1, 3, 10))):
        table = random.choice(tables)
        column, value = random.choice(columns(base, table)), random.choice(VALUES)
        some = random.choice(("", " WHERE rowid % 7 = 3", " WHERE rowid < 3"))
        base.execute(f'UPDATE "{table}" SET "{column}" = ?{some}', (value,))


@edited
def without_a_table(random, base, tables):
    base.execute(f'DROP TABLE "{random.choice(tables)}"')


@edited
def without_a_column(random, base, tables):
    table = random.choice(tables)
    base.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{random.choice(columns(base, table))}" TO "other"')


@edited
def endless_view(random, base, tables):
    """A view of endless rows in the place of a table."""
    table = random.choice(tables)
    names = columns(base, table)
    base.execute(f'DROP TABLE "{table}"')
    base.execute(f'CREATE VIEW "{table}" AS {ENDLESS}' + ", ".join(f'i AS "{name}"' for name in names) + " FROM n")


@edited
def costly_view(random, base, tables):
    table = random.choice(tables)
    names = columns(base, table)
    base.execute(f'ALTER TABLE "{table}" RENAME TO "hidden"')
    cost = random.choice(("zeroblob(1000000000)", "randomblob(100000000)", "replace(hex(zeroblob(30000000)), '0', 'abc')", "load_extension('x')",
                          "fts3_tokenizer('simple', x'4141414141414141')", "printf('%.*c', 900000000, 'x')"))
    picked = random.choice(names)
    base.execute(f'CREATE VIEW "{table}" AS SELECT ' + ", ".join(cost + f' AS "{n}"' if n == picked else f'"{n}"' for n in names) + " FROM hidden")


@edited
def virtual_table(random, base, tables):
    table = random.choice(tables)
    names = columns(base, table)
    base.execute(f'DROP TABLE "{table}"')
    kind = random.choice(("fts5", "fts4", "rtree"))
    base.execute(f'CREATE VIRTUAL TABLE "{table}" USING {kind}(' + ", ".join(f'"{name}"' for name in names) + ")")


@edited
def hostile_schema(random, base, tables):
    """SQL that only the reader's own connection will parse."""
    base.execute("PRAGMA writable_schema = ON")
    text = random.choice(("CREATE TABLE x(", "CREATE VIEW v AS SELECT " + "(" * 900 + "1" + ")" * 900, "", None, "CREATE VIRTUAL TABLE x USING fts3tokenize()",
                          "CREATE TABLE t(a AS (b), b AS (a))", "SELECT 1"))
    base.execute("UPDATE sqlite_master SET sql = ? WHERE rowid = (SELECT min(rowid) + ? FROM sqlite_master)", (text, random.randrange(6)))


@edited
def root_pages(random, base, tables):
    """Two tables in one tree, or a table in no page."""
    base.execute("PRAGMA writable_schema = ON")
    base.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (random.choice((0, 1, 2, 3, 2**31 - 1, -1)), random.choice(tables)))


@edited
def more_rows(random, base, tables):
    table = random.choice(tables)
    for _ in range(random.choice((2, 6, 10))):
        base.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" LIMIT 20000')


@edited
def names_of_texts(random, base, tables):
    for table in tables:
        for column in columns(base, table):
            if random.random() < 0.2:
                base.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE typeof("{column}") = "text" AND rowid % 3 = 1',
                             (random.choice(mutate_json.NAMES),))


@edited
def triggers(random, base, tables):
    base.execute(f'CREATE TRIGGER t AFTER INSERT ON "{random.choice(tables)}" BEGIN SELECT load_extension("x"); END')


def page(random, data):
    """Bytes of a page's own header, or of its pointers to cells."""
    if len(data) < 4096:
        return mutate_bytes.extreme(random, data)
    at = random.randrange(len(data) // 4096) * 4096 + (100 if random.random() < 0.1 else 0) + random.randrange(40)
    return data[:at] + bytes([random.choice((0, 1, 2, 5, 10, 13, 0x7F, 0xFF))]) + data[at + 1 :]


ALL = (values, values, values, without_a_table, without_a_column, endless_view, costly_view, virtual_table, hostile_schema, root_pages, more_rows,
       names_of_texts, triggers, page, page, page, mutate_bytes.truncate, mutate_bytes.flip)
