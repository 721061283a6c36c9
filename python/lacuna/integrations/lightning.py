# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Marks the steps of Lightning's Trainer, and shows what it does in ranges."""

from typing import Any, Dict, List

try:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.profilers import Profiler
except ModuleNotFoundError:  # its older name
    from pytorch_lightning.callbacks import Callback  # type: ignore[assignment]
    from pytorch_lightning.profilers import Profiler  # type: ignore[assignment]

from .. import _steps
from .._range import phase, range
from ._interruption import Interruption


class LacunaCallback(Callback):
    """`Trainer(callbacks=[LacunaCallback()])`: a step of the recording ends with each batch after which an optimizer
    has stepped. Validations are phases between steps."""

    def __init__(self) -> None:
        self._interruption = Interruption()
        self._optimizer_steps = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._optimizer_steps = trainer.global_step

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if not _steps.has_step():
            _steps.begin_step()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step != self._optimizer_steps:
            self._optimizer_steps = trainer.global_step
            _steps.end_step()
            _steps.begin_step()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._interruption.begin("evaluation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._interruption.end()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        _steps.forget_step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        _steps.forget_step()
        self._interruption.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.on_train_end(trainer, pl_module)


class LacunaProfiler(Profiler):
    """`Trainer(profiler=LacunaProfiler())`: a range for each of Lightning's actions. Saving is a checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self._open: Dict[str, List[range]] = {}

    def start(self, action_name: str) -> None:
        found = phase("checkpoint") if action_name == "save_checkpoint" else range(action_name)
        self._open.setdefault(action_name, []).append(found)
        found.__enter__()

    def stop(self, action_name: str) -> None:
        open_ranges = self._open.get(action_name)
        if open_ranges:
            open_ranges.pop().__exit__()
