# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a trace as Arrow, read by the library liblacuna_rows.so that is installed with the command."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import pathlib
import typing

from ._program import DISTRIBUTION, Error, program, version

if typing.TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

LIBRARY = "liblacuna_rows.so"


def _library_file() -> pathlib.Path:
    """Beside the command: in lib/lacuna of an installation, in lib of a build folder."""
    prefix = pathlib.Path(os.path.realpath(program())).parent.parent
    for folder in (prefix / "lib/lacuna", prefix / "lib64/lacuna", *sorted(prefix.glob("lib/*/lacuna")), prefix / "lib"):
        if (folder / LIBRARY).exists():
            return folder / LIBRARY
    raise Error(f"{LIBRARY} is not below {prefix / 'lib'}. Remedy: pip install --force-reinstall {DISTRIBUTION}")


class _Library:
    """The functions of cli/src/rows/rows.h."""

    def __init__(self, file: pathlib.Path) -> None:
        try:
            waiting, quick = ctypes.CDLL(str(file)), ctypes.PyDLL(str(file))
            self.version = waiting.lacunaRowsVersion
            self.open = waiting.lacunaRowsOpen
            self.tables = waiting.lacunaRowsTables
            self.free_text = waiting.lacunaRowsFreeText
            self.capsule = quick.lacunaRowsCapsule
        except (OSError, AttributeError) as error:
            raise Error(f"{file} cannot be loaded: {error}. Remedy: pip install --force-reinstall {DISTRIBUTION}") from error
        self.version.restype = ctypes.c_char_p
        self.open.argtypes = ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
        self.open.restype = ctypes.c_void_p
        self.tables.restype = ctypes.c_void_p
        self.free_text.argtypes, self.free_text.restype = (ctypes.c_void_p,), None
        self.capsule.argtypes, self.capsule.restype = (ctypes.c_void_p,) * 3, ctypes.py_object

    def text(self, pointer: int | None) -> str:
        """Takes a text over from the library; None is one for which it had no memory."""
        if pointer is None:
            raise MemoryError
        try:
            return ctypes.string_at(pointer).decode("utf-8", "replace")
        finally:
            self.free_text(pointer)


@functools.lru_cache(maxsize=None)
def _loaded(file: pathlib.Path) -> _Library:
    library = _Library(file)
    theirs, ours = library.version().decode(), version()
    if ours not in ("unknown", theirs):
        raise Error(f"{file} is of lacuna {theirs}, and the Python package is {ours}. Remedy: " + (
            "unset LACUNA_PROGRAM" if "LACUNA_PROGRAM" in os.environ else f"pip install --force-reinstall {DISTRIBUTION}"))
    return library


def _address(function: typing.Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def _needed(module: str) -> typing.Any:
    """Another package's module, which only some calls need."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise Error(f"{package} cannot be imported ({error}). Remedy: pip install {package}") from error


def tables() -> dict[str, dict[str, str]]:
    library = _loaded(_library_file())
    found = {}
    for line in library.text(library.tables()).splitlines():
        name, *columns = line.split("\t")
        found[name] = dict(column.split(" ") for column in columns)
    return found


class Rows:
    """The rows of one table or statement of a trace. Libraries that know Arrow's interface for Python take them, such as
    pyarrow.table(rows) and polars.DataFrame(rows). Each use reads the trace anew, batch by batch."""

    def __init__(self, file: str, what: str) -> None:
        self._file = file
        self._what = what

    def __repr__(self) -> str:
        return f"lacuna.open({self._file!r}).table({self._what!r})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a capsule of Arrow's C interface. A requested schema is left to the consumer."""
        library = _loaded(_library_file())
        problem = ctypes.c_void_p()
        stream = library.open(os.fsencode(self._file), self._what.encode(), ctypes.byref(problem))
        if stream is None:
            raise Error(library.text(problem.value))
        return library.capsule(stream, _address(ctypes.pythonapi.PyCapsule_New),
                               _address(ctypes.pythonapi.PyCapsule_GetPointer))

    def batches(self) -> pyarrow.RecordBatchReader:
        """The rows in batches, for those that do not fit into memory. Needs pyarrow 15 or newer."""
        return _needed("pyarrow").RecordBatchReader.from_stream(self)

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow.Table."""
        pyarrow = _needed("pyarrow")
        reader = self.batches()
        try:
            # One by one, so that Ctrl-C ends it.
            return pyarrow.Table.from_batches(list(reader), reader.schema)
        except pyarrow.ArrowException as error:
            raise Error(str(error)) from error

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas.DataFrame. Needs pyarrow, too."""
        _needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars.DataFrame."""
        polars = _needed("polars")
        try:
            return polars.DataFrame(self)
        except polars.exceptions.PolarsError as error:
            raise Error(str(error)) from error

    def to_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes all rows to a Parquet file, in bounded memory. Needs pyarrow."""
        pyarrow, parquet = _needed("pyarrow"), _needed("pyarrow.parquet")
        path = pathlib.Path(path)
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} exists already; overwrite=True replaces it")
        draft = path.with_name(f".{path.name}.{os.getpid()}.part")
        reader = self.batches()
        try:
            with parquet.ParquetWriter(draft, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
            os.replace(draft, path)
        except pyarrow.ArrowException as error:
            raise Error(str(error)) from error
        finally:
            draft.unlink(missing_ok=True)
