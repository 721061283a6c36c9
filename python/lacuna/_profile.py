# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Records a stretch of this program, which nobody else records."""

import os
import pathlib
import subprocess
import sys
import threading
from typing import IO, Optional, Union, cast

from . import _control, _steps
from ._program import Error, program
from ._recorder import is_recorded, check_again, recorder
from ._trace import Trace

_one_at_a_time = threading.Lock()
_explained = False


class profile:
    """Records what this program does in a `with` block, into a trace of its own:

        with lacuna.profile("run.lcn"):
            for batch in loader:
                …
                lacuna.step()

    The trace has PyTorch's operators, modules, memory and data loader, NVTX and CUDA, and lacuna.range(), also of
    processes that the block starts. Only `lacuna run` records lines of Python, CPU samples and counters.

    In a program under `lacuna run` the block is lacuna.start() and lacuna.stop() of that recording."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, force: bool = False) -> None:
        self.path = pathlib.Path(os.path.abspath(path))
        self._force = force
        self._session: Optional[_Session] = None
        self._switches = False

    def __enter__(self) -> "profile":
        global _explained
        if _one_at_a_time.locked():
            raise Error("a block of lacuna.profile() records already in this program. Remedy: end it first")
        if "LACUNA_STEP_TIMES" in os.environ:
            return self  # a trial of `lacuna tune`, which a recording would slow down
        if is_recorded():
            if not _explained:
                _explained = True
                print(f"lacuna: this program is being recorded already, so lacuna.profile() switches that recording on and "
                      f"off and does not write {self.path.name}", file=sys.stderr)
            self._switches = True
            _control.start()
            return self
        if self.path.exists() and not self._force:
            raise Error(f"{self.path} exists. Remedy: choose another file, or force=True to replace it")
        _one_at_a_time.acquire()
        try:
            self._session = _Session(self.path, self._force)
        except BaseException:
            _one_at_a_time.release()
            raise
        _steps.begin_step()
        return self

    def __exit__(self, *_: object) -> None:
        if self._switches:
            self._switches = False
            _control.stop()
        session, self._session = self._session, None
        if session is None or session.process != os.getpid():
            return  # a forked child that leaves the block leaves its parent's recording alone
        try:
            session.end()
        finally:
            _one_at_a_time.release()

    @property
    def trace(self) -> Trace:
        """The recording; inside the block, as far as it is written."""
        return Trace(self.path)


class _Session:
    """A recording of this process that `lacuna run` writes, as a child of it."""

    def __init__(self, path: pathlib.Path, force: bool) -> None:
        self.process = os.getpid()
        self.before: dict = {}
        words = [program(), "run", "--caller", "-o", str(path), *(["--force"] if force else [])]
        try:
            # In a session of its own, so that Ctrl-C reaches this program alone.
            self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          start_new_session=True)
        except OSError as error:
            raise Error(f"{program()} cannot be run: {error}") from error
        try:
            self._join(self._greeting())
        except BaseException:
            self._leave()
            self._abandon(path)
            raise

    def _greeting(self) -> str:
        """Does what the child wants set, and returns the folder of the recording."""
        output = cast(IO[bytes], self.child.stdout)
        text = b""
        while True:
            piece = output.read1(65536)  # type: ignore[attr-defined]
            if not piece:
                raise Error(self._words(cast(IO[bytes], self.child.stderr).read()))
            text += piece
            *lines, rest = text.split(b"\0")
            for line in lines:
                kind, _, value = os.fsdecode(line).partition(" ")
                if kind == "ready":
                    return value
                if kind == "note":
                    print(f"lacuna: {value}", file=sys.stderr)
                else:
                    self._set(*value.split("=", 1))
            text = rest

    def _set(self, name: str, value: str) -> None:
        self.before[name] = os.environ.get(name)
        os.environ[name] = value

    def _join(self, folder: str) -> None:
        check_again()
        found = recorder()
        if found is None:
            raise Error(f"the recorder {os.environ.get('NVTX_INJECTION64_PATH')} cannot be loaded. "
                        "Remedy: pip install --force-reinstall lacuna-profiler")
        code = found.join(folder)
        if code != 0:
            raise Error(f"this process cannot record: {os.strerror(-code)}")

    def _leave(self) -> None:
        """This process records no longer, and is as before."""
        found = recorder() if is_recorded() else None
        if found is not None:
            found.leave()
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        check_again()

    def _abandon(self, path: pathlib.Path) -> None:
        """Nothing was recorded."""
        self.child.communicate()
        if self.child.returncode == 0:
            path.unlink()

    def end(self) -> None:
        _steps.forget_step()
        self._leave()
        _, errors = self.child.communicate(b"\n")
        if self.child.returncode != 0:
            raise Error(self._words(errors))

    def _words(self, errors: bytes) -> str:
        message = os.fsdecode(errors).strip().removeprefix("lacuna: error: ")
        return message or f"lacuna run --caller ended with {self.child.wait()}"


def _in_child() -> None:
    """The block is the parent's."""
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


os.register_at_fork(after_in_child=_in_child)
