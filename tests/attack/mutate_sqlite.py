# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of SQLite databases: of their pages, their rows, and their schema."""

import os
import sqlite3
import struct
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
                for pragma in ("max_page_count = 40000", "synchronous = OFF", "journal_mode = MEMORY"):
                    base.execute(f"PRAGMA {pragma}").fetchall()
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


IDS = ("id", "textId", "nameId", "shortName", "demangledName", "mangledName", "jsonTextId", "category", "domainId", "correlationId", "globalTid", "globalPid", "endGlobalTid", "deviceId",
       "streamId", "contextId", "gpuId", "symbol", "module", "copyKind", "srcKind", "dstKind", "memKind", "syncType", "eventType", "callchainId", "typeId", "metricId")
NUMBERS = (0, 1, -1, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 1e300, "7", "x", None, b"\x01")


def some_columns(random, base, tables, wanted):
    found = [(table, column) for table in tables for column in columns(base, table) if wanted(column)]
    return random.sample(found, min(len(found), random.choice((1, 2, 5))))


@edited
def ids(random, base, tables):
    """Ids of texts, threads, devices and calls that nothing has, or that all have."""
    for table, column in some_columns(random, base, tables, lambda name: name in IDS):
        expression = random.choice(("?", f'"{column}" + ?', "rowid % 3 + ?", f'"{column}" % 2', "rowid * 1000003", "random()", "-rowid", f'CAST("{column}" AS TEXT)', f'"{column}" + 0.5'))
        base.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = {expression} WHERE rowid % ? = 0', ((random.choice(NUMBERS[:10]),) if "?" in expression else ()) + (random.choice((1, 7)),))


@edited
def measures(random, base, tables):
    """Times, sizes and dimensions that none has."""
    for table, column in some_columns(random, base, tables, lambda name: name not in IDS):
        base.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid % ? = 0', (random.choice(NUMBERS), random.choice((1, 3, 20))))


@edited
def huge_value(random, base, tables):
    """A blob or a text of megabytes in one row or in many."""
    table = random.choice(tables)
    column, size = random.choice(columns(base, table)), random.choice((100000, 5000000, 60000000))
    value = random.choice(("zeroblob(?)", "CAST(zeroblob(?) AS TEXT)", "replace(hex(zeroblob(? / 4)), '0', 'é')", "printf('%.*c', ?, 'x')"))
    base.execute(f'UPDATE "{table}" SET "{column}" = {value} WHERE rowid < ?', (size, 3 if size > 1000000 else 100))


@edited
def generated_columns(random, base, tables):
    """A column that is calculated, when it is read or when it is written."""
    table = random.choice(tables)
    names = columns(base, table)
    picked = random.choice(names)
    others = [name for name in names if name != picked]
    if not others:
        return
    cost = random.choice(("abs(-9223372036854775808)", "zeroblob(900000000)", "hex(zeroblob(50000000))", "1 / 0", "json_extract('[1]', '$[0]')", f'"{others[0]}" || "{others[0]}"', "load_extension('x')", "7"))
    base.execute(f'ALTER TABLE "{table}" RENAME TO "hidden"')
    base.execute("PRAGMA trusted_schema = ON")
    base.execute(f'CREATE TABLE "{table}" (' + ", ".join(f'"{name}"' for name in others) + f', "{picked}" AS ({cost}) {random.choice(("VIRTUAL", "STORED"))})')
    listed = ", ".join(f'"{name}"' for name in others)
    base.execute(f'INSERT INTO "{table}" ({listed}) SELECT {listed} FROM "hidden" LIMIT {random.choice((1, 50))}')


@edited
def views_of_views(random, base, tables):
    """A view for a table: of itself, of others without end, of a product of tables, or of itself within a function."""
    table = random.choice(tables)
    names = columns(base, table)
    base.execute(f'ALTER TABLE "{table}" RENAME TO "hidden"')
    listed = ", ".join(f'"{name}"' for name in names)
    kind = random.randrange(4)
    if kind == 0:
        base.execute(f'CREATE VIEW "{table}" AS SELECT {listed} FROM "{table}"')
    elif kind == 1:
        base.execute(f'CREATE VIEW v0 AS SELECT {listed} FROM hidden')
        for i in range(1, random.choice((5, 25))):
            base.execute(f'CREATE VIEW v{i} AS SELECT * FROM v{i - 1} UNION ALL SELECT * FROM v{i - 1}')
        base.execute(f'CREATE VIEW "{table}" AS SELECT * FROM v{i}')
    elif kind == 2:
        base.execute(f'CREATE VIEW "{table}" AS SELECT ' + ", ".join(f'a."{name}"' for name in names) + " FROM hidden a, hidden b, hidden c, hidden d, hidden e")
    else:
        base.execute(f'CREATE VIEW "{table}" AS WITH RECURSIVE r AS (SELECT {listed} FROM hidden UNION ALL SELECT * FROM r) SELECT * FROM r')


@edited
def odd_tables(random, base, tables):
    """The same rows in a table without rowids, strictly typed, with checks, collations, indexes of expressions or triggers."""
    table = random.choice(tables)
    names = columns(base, table)
    base.execute(f'ALTER TABLE "{table}" RENAME TO "hidden"')
    listed = ", ".join(f'"{name}"' for name in names)
    form = random.choice((f'({listed}, PRIMARY KEY ({listed})) WITHOUT ROWID', f'({listed.replace(",", " ANY,")} ANY) STRICT', f'({listed}, CHECK (length("{names[0]}") < 1000000))',
                          "(" + ", ".join(f'"{name}" TEXT COLLATE NOCASE' for name in names) + ")", "(" + ", ".join(f'"{name}" REAL' for name in names) + ")",
                          "(" + ", ".join(f'"{name}" BLOB' for name in names) + ")", f'({listed}, UNIQUE ("{names[-1]}" DESC))', f'({listed}, "extra" DEFAULT (randomblob(1000000)))'))
    base.execute(f'CREATE TABLE "{table}" {form}')
    base.execute(f'INSERT OR IGNORE INTO "{table}" ({listed}) SELECT {listed} FROM "hidden"')
    if random.random() < 0.5:
        base.execute(f'CREATE INDEX i ON "{table}" ({random.choice((f"length({chr(34)}{names[0]}{chr(34)})", f"{chr(34)}{names[0]}{chr(34)} || 1", chr(34) + names[-1] + chr(34)))})')


@edited
def many_tables(random, base, tables):
    """Names that are repeated in messages, very many tables, or very many columns."""
    for i in range(random.choice((3, 200, 1000))):
        name = random.choice(("\x1b[2J", "a\nb", "x" * 5000, "ENUM_", "\u202e", '"', "'", "t", "</script>")) + str(i)
        quoted = name.replace('"', '""')
        base.execute(f'CREATE TABLE "{quoted}" (a)')
        if i < 50:
            base.execute(f'INSERT INTO "{quoted}" VALUES (1)')
    table, more = random.choice(tables), random.choice((0, 0, 1900))
    base.execute(f'ALTER TABLE "{table}" RENAME TO "hidden"')
    base.execute(f'CREATE TABLE "{table}" AS SELECT *' + "".join(f', 1 AS "more {i}"' for i in range(more)) + ' FROM "hidden"')


@edited
def many_rows(random, base, tables):
    """As many rows as fit in a few pages, each of one key or of a key of its own."""
    table = random.choice(tables)
    names = columns(base, table)
    same = random.random() < 0.5
    listed = ", ".join(f'"{name}"' for name in names)
    picked = ", ".join(f'"{name}"' if same or name not in IDS else f'"{name}" + n.i' for name in names)
    base.execute(f'INSERT OR IGNORE INTO "{table}" ({listed}) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {random.choice((1000, 20000))}) '
                 f'SELECT {picked} FROM (SELECT * FROM "{table}" LIMIT 3), n')


@edited
def form_of_file(random, base, tables):
    """Texts of UTF-16, small or large pages, and room that nothing uses."""
    path = [row[2] for row in base.execute("PRAGMA database_list")][0]
    for pragma in random.sample(("page_size = 512", "page_size = 65536", "auto_vacuum = 1", "journal_mode = WAL", "application_id = 7", "user_version = 99"), 3):
        base.execute(f"PRAGMA {pragma}").fetchall()
    base.execute("VACUUM")
    if random.random() < 0.5:
        other = sqlite3.connect(path + "16", isolation_level=None)
        other.execute(f"PRAGMA encoding = 'UTF-16{random.choice(('le', 'be'))}'")
        for statement in base.iterdump():
            if "sqlite_sequence" not in statement:
                other.execute(statement)
        other.close()
        os.replace(path + "16", path)


def header(random, data):
    """The first hundred bytes, which describe the file."""
    at = random.randrange(16, 100)
    return data[:at] + bytes([random.choice((0, 1, 2, 3, 4, 0x40, 0x7F, 0x80, 0xFF))]) + data[at + 1 :]


def page(random, data):
    """Bytes of a page's own header, or of its pointers to cells."""
    if len(data) < 4096:
        return mutate_bytes.extreme(random, data)
    at = random.randrange(len(data) // 4096) * 4096 + (100 if random.random() < 0.1 else 0) + random.randrange(40)
    return data[:at] + bytes([random.choice((0, 1, 2, 5, 10, 13, 0x7F, 0xFF))]) + data[at + 1 :]


def with_log(random, data):
    """The database with changes in a write-ahead log beside it: {ending: bytes}."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "db")
    try:
        with open(path, "wb") as file:
            file.write(data)
        base = sqlite3.connect(path, isolation_level=None)
        base.execute("PRAGMA journal_mode = WAL").fetchall()
        base.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        for table in random.sample([row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")], 3):
            base.execute(f'UPDATE "{table}" SET "{columns(base, table)[-1]}" = 7')
            base.execute(f'INSERT OR IGNORE INTO "{table}" SELECT * FROM "{table}" LIMIT 50')
        files = {}
        for ending in ("", "-wal"):
            with open(path + ending, "rb") as file:
                files[ending] = file.read()
        base.close()
        return files
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def damaged_log(random, files):
    """The log changed, cut, of another database, or far too long."""
    log = files.get("-wal", b"")
    change = random.choice((mutate_bytes.flip, mutate_bytes.truncate, mutate_bytes.extreme, mutate_bytes.duplicate, mutate_bytes.splice,
                            lambda random, log: log[:32] + log[32:] * mutate_bytes.times(random, len(log), (2, 200)), lambda random, log: log + bytes(random.choice((1, 4096, 50 << 20))),
                            lambda random, log: bytes(len(log)), lambda random, log: log[:24] + bytes(8) + log[32:], lambda random, log: b""))
    return {**files, "-wal": change(random, log)}


def damaged_base(random, files):
    """The database changed beneath its log."""
    return {**files, "": random.choice((page, header, mutate_bytes.truncate, mutate_bytes.flip))(random, files[""])}


def other_companions(random, files):
    """A rollback journal, hot by its header, or an index of the log, that claim what they like."""
    name = b"/etc/passwd"
    base = files[""]
    journal = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + struct.pack(">IIIII", random.choice((1, 0xFFFFFFFF, 0)), 7, len(base) // 4096, 512, 4096) + bytes(484)
    journal += struct.pack(">I", 1) + base[:4096] + struct.pack(">I", 7)
    if random.random() < 0.5:  # the name of a super-journal
        journal += struct.pack(">I", 0) + name + struct.pack(">II", len(name), sum(name)) + journal[:8]
    kept = dict(files)
    if random.random() < 0.7:
        kept.pop("-wal", None)
        kept[""] = base[:18] + b"\x01\x01" + base[20:]
    kept[random.choice(("-journal", "-journal", "-shm"))] = journal
    return kept


WITH_LOG = (damaged_log, damaged_log, damaged_base, other_companions)
ALL = (values, values, ids, ids, measures, measures, huge_value, generated_columns, views_of_views, odd_tables, many_tables, many_rows, form_of_file, header, without_a_table,
       without_a_column, endless_view, costly_view, virtual_table, hostile_schema, root_pages, more_rows, names_of_texts, triggers, page, page, page, mutate_bytes.truncate,
       mutate_bytes.flip)
