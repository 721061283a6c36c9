# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of a trace with pyarrow, pandas and polars. LACUNA_PROGRAM names the command, PYTHONPATH has the module. Exits with 77
where none of the three is installed."""

import gc
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import lacuna

HAVE = {name: importlib.util.find_spec(name) is not None for name in ("pyarrow", "pandas", "polars")}


def needs(*names):
    lacking = [name for name in names if not HAVE[name]]
    return unittest.skipIf(lacking, f"not installed: {', '.join(lacking)}")


def resident_kib():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        file = cls.folder / "t.lcn"
        subprocess.run([lacuna.program(), "generate", "-o", file, "--steps", "40"], check=True, capture_output=True)
        cls.trace = lacuna.open(file)
        cls.statement = "SELECT name, startNs, durNs / 1e3 AS us, NULLIF(durNs % 3, 0) AS part FROM kernel"
        cls.expected = cls.trace.sql(cls.statement)

    @needs("pyarrow")
    def test_pyarrow_gets_the_rows_of_sql(self):
        table = self.trace.table(self.statement).to_arrow()
        self.assertEqual([str(field.type) for field in table.schema], ["string", "int64", "double", "int64"])
        table.validate(full=True)
        self.assertEqual(table.to_pylist(), self.expected)

    @needs("pyarrow")
    def test_a_table_has_all_its_rows_and_columns(self):
        table = self.trace.table("kernel").to_arrow()
        table.validate(full=True)
        self.assertEqual(table.to_pylist(), self.trace.sql("SELECT * FROM kernel"))
        names = {"string": "utf8", "double": "float64"}
        found = {field.name: names.get(str(field.type), str(field.type)) for field in table.schema}
        self.assertEqual(found, self.trace.tables["kernel"])

    @needs("pyarrow")
    def test_batches_come_one_by_one(self):
        import pyarrow
        many = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT i FROM n"
        with self.trace.table(many).batches() as reader:
            self.assertIsInstance(reader, pyarrow.RecordBatchReader)
            self.assertEqual([batch.num_rows for batch in reader], [65536, 65536, 65536, 3392])
        self.trace.table(many).batches().read_next_batch()  # and the rest is never asked for

    @needs("pyarrow")
    def test_nothing_is_leaked(self):
        wide = "SELECT printf('%.*c', 1000, 'x') AS t FROM kernel LIMIT 4000"
        for turn in range(12):
            self.trace.table(wide).to_arrow()
            self.trace.table(wide).__arrow_c_stream__()  # a capsule that nobody takes
            self.trace.table("kernel").batches()  # a stream that nobody reads
            gc.collect()
            if turn == 3:
                before = resident_kib()
        self.assertLess(resident_kib() - before, 8 * 1024, "each turn makes 8 MB of text")

    @needs("pandas", "pyarrow")
    def test_pandas_gets_a_frame(self):
        frame = self.trace.table(self.statement).to_pandas()
        self.assertEqual(list(frame.columns), ["name", "startNs", "us", "part"])
        self.assertEqual(frame["us"].tolist(), [row["us"] for row in self.expected])
        self.assertEqual(int(frame["part"].isna().sum()), sum(row["part"] is None for row in self.expected))

    @needs("polars")
    def test_polars_gets_a_frame(self):
        self.assertEqual(self.trace.table(self.statement).to_polars().to_dicts(), self.expected)
        empty = self.trace.table("SELECT name, durNs FROM kernel WHERE 0").to_polars()
        self.assertEqual((empty.columns, empty.height), (["name", "durNs"], 0))

    @needs("polars")
    def test_polars_reads_the_rows_without_pyarrow(self):
        code = "import sys, lacuna; print(lacuna.open(sys.argv[1]).table('kernel').to_polars().height, 'pyarrow' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code, self.trace.path], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), [str(len(self.expected)), "False"])

    @needs("pyarrow")
    def test_parquet_files_hold_the_rows_and_are_not_replaced_unasked(self):
        import pyarrow.parquet
        path = self.folder / "kernel.parquet"
        self.trace.table(self.statement).to_parquet(path)
        self.assertEqual(pyarrow.parquet.read_table(path).to_pylist(), self.expected)
        with self.assertRaisesRegex(FileExistsError, "overwrite=True"):
            self.trace.table("thread").to_parquet(path)
        self.trace.table("SELECT 1 AS one").to_parquet(path, overwrite=True)
        self.assertEqual(pyarrow.parquet.read_table(path).to_pylist(), [{"one": 1}])
        with self.assertRaises(lacuna.Error):
            self.trace.table("SELECT CASE WHEN i < 90000 THEN 1 ELSE 'x' END AS c FROM (WITH RECURSIVE n(i) AS (VALUES (1) "
                             "UNION ALL SELECT i + 1 FROM n WHERE i < 90000) SELECT i FROM n)").to_parquet(path, overwrite=True)
        self.assertEqual(pyarrow.parquet.read_table(path).to_pylist(), [{"one": 1}])
        self.assertEqual([file.name for file in self.folder.iterdir() if file.name.endswith(".part")], [])

    @needs("pyarrow", "polars")
    def test_a_later_value_of_another_kind_is_an_error(self):
        mixed = ("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 70000) "
                 "SELECT CASE WHEN i < 70000 THEN i ELSE 'last' END AS mixed FROM n")
        for way in ("to_arrow", "to_polars"):
            with self.assertRaisesRegex(lacuna.Error, r"'mixed'.*row 70000.*CAST"):
                getattr(self.trace.table(mixed), way)()


if __name__ == "__main__":
    if not any(HAVE.values()):
        print("skipped: none of pyarrow, pandas and polars is installed; pip install pyarrow pandas polars")
        sys.exit(77)
    unittest.main(verbosity=2)
