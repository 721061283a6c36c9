# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A trace, read through the lacuna command."""

from __future__ import annotations

import html
import json
import os
import pathlib
import tempfile
import typing

from ._program import Error, call
from ._rows import Rows, tables


class Trace:
    """A trace of any kind that the command opens: .lcn, Kineto or Chrome JSON, nsys SQLite, Perfetto.

    Every question reads the file again, so a recording that still grows may be asked too."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)

    def __repr__(self) -> str:
        return f"lacuna.open({str(self.path)!r})"

    def report(self, *, steps: tuple[int, int] | None = None, device: str | None = None,
               rank: int | None = None) -> dict[str, typing.Any]:
        """The whole report as a dictionary; docs/report-json.md describes it.

        steps=(a, b) takes steps a up to but without b, device="cuda:0" one device, rank=0 one rank."""
        words = []
        if steps is not None:
            begin, end = steps
            words += ["--steps", f"{begin}:{end}"]
        if device is not None:
            words += ["--device", str(device)]
        if rank is not None:
            words += ["--rank", str(rank)]
        return json.loads(call("report", "--json", *words, self._file()))

    @property
    def findings(self) -> list[dict[str, typing.Any]]:
        """The faults and possible gains, the costliest first: a list of dictionaries."""
        return self.report()["findings"]

    def sql(self, statement: str) -> list[dict[str, typing.Any]]:
        """The rows of one SQL statement, a dictionary each; docs/schema.md lists the tables. table() is for many rows."""
        return json.loads(call("query", "--json", self._file(), statement))

    def table(self, what: str) -> Rows:
        """The rows of a table, such as "kernel", or of one SQL statement, as Arrow: for pyarrow, pandas, polars and others.

        This process reads the file itself, without the sandbox of the command: take sql() for a stranger's file."""
        return Rows(self._file(), what)

    @property
    def tables(self) -> dict[str, dict[str, str]]:
        """The tables that statements may read: a dictionary of names, each with its columns and their types."""
        return tables()

    def whatif(self, *changes: str) -> dict[str, typing.Any]:
        """The step time with changes such as "loader.workers=4" or "kernel:gelu*0.5", all played together."""
        if not changes:
            raise ValueError('name a change, such as "loader.workers=4"; lacuna whatif --list prints all')
        return json.loads(call("whatif", "--json", self._file(), *changes))

    def html(self) -> str:
        """The report as a page that needs no other file."""
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "report.html")
            call("report", "-o", page, self._file())
            return pathlib.Path(page).read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """Notebooks show the report."""
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width: 100%; height: 40em; border: 0"></iframe>'

    def _file(self) -> str:
        """The path, in a form that is never taken for an option."""
        return os.path.abspath(self.path)


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """A trace of any kind, as lacuna.Trace; an Error where it cannot be read."""
    trace = Trace(path)
    if not trace.path.exists():
        raise Error(f"{path} does not exist")
    call("info", trace._file())
    return trace
