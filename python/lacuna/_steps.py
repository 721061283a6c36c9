# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of training that the program marks itself."""

import os
import sys
import time
from typing import Any, Optional

from ._recorder import recorder

_begin_ns: Optional[int] = None  # of the step that lasts; None where its begin is unknown or was not recorded
_marked = False


def step() -> None:
    """Ends one step of training, and begins the next:

        for batch in loader:
            …
            optimizer.step()
            lacuna.step()

    The recording's steps are then these, and no longer those that the PyTorch hook infers. Call it from one thread.
    The first step begins with the first batch or model call that the hook sees, with lacuna.start(), or where
    lacuna.profile() begins; without any of them with the first call."""
    end_step(is_first_call=not _marked)
    begin_step()


def begin_step() -> None:
    """A step begins here, and what came before belongs to none."""
    global _begin_ns
    found = recorder()
    _begin_ns = time.monotonic_ns() if found is not None and found.is_on() else None
    if _trial() is not None:
        _trial().program_begins()


def end_step(is_first_call: bool = False) -> None:
    """The step that lasts ends here."""
    global _begin_ns, _marked
    _marked = True
    begin_ns, _begin_ns = _begin_ns, None
    hook = sys.modules.get("lacuna_training")
    if begin_ns is None and is_first_call and hook is not None:
        begin_ns = hook.Steps.first_ns
    found = recorder()
    if found is not None and begin_ns is not None and found.is_on():
        found.step(begin_ns, time.monotonic_ns())
    if _trial() is not None:
        _trial().program_ends()


def has_step() -> bool:
    """True while a step lasts whose begin is recorded."""
    return _begin_ns is not None


def forget_step() -> None:
    """Leaves the time that now begins out of the steps: an evaluation, or a stretch that nobody records."""
    global _begin_ns
    _begin_ns = None
    if _trial() is not None:
        _trial().program_forgets()


def _trial() -> Any:
    """The steps of `lacuna tune`, which times this program without a recording; or None."""
    module = sys.modules.get("lacuna_steps")
    return module.program_steps if module is not None else None


def _in_child() -> None:
    global _marked
    forget_step()
    _marked = False


os.register_at_fork(after_in_child=_in_child)
