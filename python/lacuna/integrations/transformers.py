# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Marks the steps, evaluations and checkpoints of a Trainer of Hugging Face Transformers."""

from typing import Any

from transformers import TrainerCallback

from .. import _steps
from ._interruption import Interruption


class LacunaCallback(TrainerCallback):
    """`Trainer(…, callbacks=[LacunaCallback()])`: a step of the recording is one of the Trainer, with all its batches
    of gradient accumulation. Evaluations and checkpoints are phases between steps."""

    def __init__(self) -> None:
        self._interruption = Interruption()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._interruption.end()
        if not _steps.has_step():
            _steps.begin_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        _steps.end_step()
        _steps.begin_step()
        self._interrupt(control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        _steps.forget_step()
        self._interrupt(control)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self._interruption:  # evaluate() was called by hand
            self._interruption.begin("evaluation")

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._interruption.end()
        if control.should_save:
            self._interruption.begin("checkpoint")

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, **_: Any) -> None:
        self._interruption.end()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._interruption.end()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        _steps.forget_step()
        self._interruption.end()

    def _interrupt(self, control: Any) -> None:
        """The Trainer does next what `control` asks for: first the evaluation, then the checkpoint."""
        if control.should_evaluate:
            self._interruption.begin("evaluation")
        elif control.should_save:
            self._interruption.begin("checkpoint")
