# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The recorder inside this program: the libraries that `lacuna run` or `lacuna.profile` put into it."""

import ctypes
import importlib
import os
import pathlib
import sys
from typing import Optional

PHASE = 2  # a category of docs/nvtx-schema.md


class Recorder:
    """The functions of the two libraries. They are too short to be worth giving up the interpreter's lock for."""

    def __init__(self, injected: pathlib.Path) -> None:
        emitter = ctypes.PyDLL(str(injected.with_name("liblacuna_torch.so")))
        control = ctypes.PyDLL(str(injected))
        self.open = emitter.lacunaTorchOpen
        self.open.argtypes, self.open.restype = (ctypes.c_uint32, ctypes.c_char_p), ctypes.c_int
        self.close = emitter.lacunaTorchClose
        self.close.argtypes, self.close.restype = (ctypes.c_int,), None
        self.step = emitter.lacunaTorchProgramStep
        self.step.argtypes, self.step.restype = (ctypes.c_int64, ctypes.c_int64), None
        self._listen = emitter.lacunaTorchRecord
        self._listen.argtypes, self._listen.restype = (ctypes.c_int,), None
        self._join = control.lacunaInjectStart
        self._join.argtypes, self._join.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_int
        self._leave = control.lacunaInjectStop
        self._leave.argtypes, self._leave.restype = (), None
        self.switch = control.lacunaInjectSwitch
        self.switch.argtypes, self.switch.restype = (ctypes.c_int,), ctypes.c_int
        self.is_on = control.lacunaInjectIsOn
        self.is_on.argtypes, self.is_on.restype = (), ctypes.c_int
        self._hook = injected.with_name("python")

    def join(self, folder: str) -> int:
        """Records this process from here on. 0, or a negative errno."""
        code = self._join(os.fsencode(folder), 1)
        if code != 0:
            return code
        self._listen(1)
        if "lacuna_torch" in sys.modules:
            sys.modules["lacuna_torch"].resume()
        elif "lacuna_start" not in sys.modules:
            self._hook_into_python()
        return 0

    def leave(self) -> None:
        """Records it no longer."""
        self._listen(0)
        self._leave()
        if "lacuna_torch" in sys.modules:
            sys.modules["lacuna_torch"].pause()

    def _hook_into_python(self) -> None:
        """Starts the start-up hook in a program that runs already. It stays for the life of the program."""
        sys.path.insert(0, str(self._hook))
        try:
            importlib.import_module("lacuna_start").begin()
        finally:
            sys.path.remove(str(self._hook))


_known: Optional[Recorder] = None
_checked = False


def is_recorded() -> bool:
    """True in a program that somebody records, and in what it starts."""
    return "LACUNA_RECORDING" in os.environ


def recorder() -> Optional[Recorder]:
    """The recorder of this process, or None where nobody records it."""
    global _known, _checked
    if not _checked:
        _checked = True
        _known = _load()
    return _known


def check_again() -> None:
    """Whether this process is recorded has changed."""
    global _checked
    _checked = False


def _load() -> Optional[Recorder]:
    injected = os.environ.get("NVTX_INJECTION64_PATH")
    if not injected or not is_recorded():
        return None
    try:
        return Recorder(pathlib.Path(injected))
    except (OSError, AttributeError):  # another tool's library, or a lacuna that is installed in part
        return None
