# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges that a Python program puts into its own recording."""

import ctypes
import functools
import os
import pathlib


def _nothing(*_):
    return -1


def _recorder():
    """The functions that open and close a range, of the `lacuna run` that started this program; else ones that do nothing."""
    injected = os.environ.get("NVTX_INJECTION64_PATH")
    if not injected or "LACUNA_RECORDING" not in os.environ:
        return _nothing, _nothing
    try:
        # They are too short to be worth giving up the interpreter's lock for.
        library = ctypes.PyDLL(str(pathlib.Path(injected).with_name("liblacuna_torch.so")))
        begin, end = library.lacunaTorchOpen, library.lacunaTorchClose
    except (OSError, AttributeError):  # another tool's library, or a lacuna that is installed in part
        return _nothing, _nothing
    begin.argtypes, begin.restype = (ctypes.c_uint32, ctypes.c_char_p), ctypes.c_int
    end.argtypes, end.restype = (ctypes.c_int,), None
    return begin, end


_begin = _end = None


class range:  # noqa: A001  `lacuna.range`
    """A named stretch of time on this thread, in the recording:

        with lacuna.range("augment"):
            …

        @lacuna.range("augment")
        def augment(picture): …

    Nested ranges are shown inside one another. Without `lacuna run` it does nothing."""

    def __init__(self, name):
        global _begin, _end
        if _begin is None:
            _begin, _end = _recorder()
        self._name = str(name).encode()
        self._levels = []

    def __enter__(self):
        self._levels.append(_begin(0, self._name))
        return self

    def __exit__(self, *_):
        _end(self._levels.pop())

    def __call__(self, function):
        name = self._name.decode()

        @functools.wraps(function)
        def ranged(*arguments, **named):
            with range(name):
                return function(*arguments, **named)

        return ranged
