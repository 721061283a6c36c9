# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The package of this source tree with the command of a build: the tests here are called as TEST.py LACUNA."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LACUNA = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
os.environ["LACUNA_PROGRAM"] = str(LACUNA)
os.environ["PYTHONPATH"] = str(ROOT / "python")
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
for inherited in ("RANK", "SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK"):
    os.environ.pop(inherited, None)

import lacuna  # noqa: E402


class InFolder(unittest.TestCase):
    """A test whose programs run in a folder of their own, where their traces are."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def python(self, program, *, code=0, **variables):
        """The standard output and standard error of a Python program."""
        return self.call([sys.executable, "-c", program], code, variables)

    def recorded(self, program, *options, code=0, **variables):
        """The same of a program under `lacuna run`, which writes run.lcn."""
        return self.call([LACUNA, "run", "-q", "-o", "run.lcn", *options, "--", sys.executable, "-c", program], code,
                         variables)

    def call(self, words, code=0, variables=None):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, text=True, capture_output=True, check=False,
                              env=dict(os.environ, **(variables or {})), timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def trace(self, name="run.lcn"):
        return lacuna.open(self.folder / name)

    def ranges(self, name="run.lcn", domain="lacuna.rt"):
        """How often each range is in a trace."""
        rows = self.trace(name).sql(f"SELECT name, count(*) AS n FROM range WHERE domain = '{domain}' GROUP BY 1")
        return {row["name"]: row["n"] for row in rows}

    def steps(self, name="run.lcn"):
        return self.trace(name).report()["steps"]
