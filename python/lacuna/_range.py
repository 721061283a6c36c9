# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges that a Python program puts into its own recording."""

import functools
from typing import Callable, TypeVar

from ._recorder import PHASE, recorder

Function = TypeVar("Function", bound=Callable)


class range:  # noqa: A001  `lacuna.range`
    """A named stretch of time on this thread, in the recording:

        with lacuna.range("augment"):
            …

        @lacuna.range("augment")
        def augment(picture): …

    Nested ranges are shown inside one another. Where nobody records the program it does nothing."""

    category = 0

    def __init__(self, name: object) -> None:
        self._name = str(name).encode()
        self._levels: list = []

    def __enter__(self) -> "range":
        found = recorder()
        self._levels.append((found, found.open(self.category, self._name)) if found is not None else None)
        return self

    def __exit__(self, *_: object) -> None:
        opened = self._levels.pop()
        if opened is not None:
            found, level = opened
            found.close(level)  # also where the recording has ended meanwhile

    def __call__(self, function: Function) -> Function:
        name = self._name.decode()

        @functools.wraps(function)
        def ranged(*arguments, **named):
            with type(self)(name):
                return function(*arguments, **named)

        return ranged  # type: ignore[return-value]


class phase(range):
    """A part of a training that analyses know by its name: "evaluation" and "checkpoint" interrupt the steps."""

    category = PHASE
