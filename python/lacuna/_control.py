# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Starts and stops the recording that this program is in."""

import os
import pathlib
from typing import Union

from . import _steps
from ._program import Error, call
from ._recorder import is_recorded, recorder
from ._trace import Trace


def start() -> bool:
    """Records from here on, after stop() or `lacuna run --delay`. It is the whole recording that starts, with all its
    processes. Returns False, and does nothing, where nobody records this program."""
    done = _switch(True)
    if done and not _steps.has_step():
        _steps.begin_step()
    return done


def stop() -> bool:
    """Records nothing until start(). Counterpart of start()."""
    _steps.forget_step()
    return _switch(False)


def snapshot(path: Union[str, "os.PathLike[str]"], *, force: bool = False) -> Trace:
    """Writes a trace of what was recorded so far, while the recording goes on. force=True replaces a file."""
    if not is_recorded():
        raise Error("nobody records this program. Remedy: start it with: lacuna run -- PROGRAM, or use lacuna.profile()")
    file = pathlib.Path(os.path.abspath(path))
    if file.exists() and not force:
        raise Error(f"{file} exists. Remedy: choose another file, or force=True to replace it")
    call("trigger", str(os.getpid()), "--dump", "-o", str(file), *(["--force"] if force else []))
    return Trace(file)


def _switch(on: bool) -> bool:
    found = recorder()
    return found is not None and found.switch(1 if on else 0) == 0
