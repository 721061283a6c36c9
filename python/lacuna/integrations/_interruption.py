# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The phase that interrupts a training's steps."""

from typing import Optional

from .. import _steps
from .._range import phase


class Interruption:
    """An evaluation or a checkpoint. While it lasts there is no step."""

    def __init__(self) -> None:
        self._open: Optional[phase] = None

    def begin(self, name: str) -> None:
        self.end()
        _steps.forget_step()
        self._open = phase(name)
        self._open.__enter__()

    def end(self) -> None:
        if self._open is not None:
            self._open.__exit__()
            self._open = None

    def __bool__(self) -> bool:
        return self._open is not None
