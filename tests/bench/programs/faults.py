# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The faults that a drawn program may have, and the findings that would name each of them."""

import dataclasses
from collections.abc import Callable

NORMED = ("mlp", "cnn", "autoencoder")


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    findings: tuple[str, ...]  # ids of findings that name it rightly; none: the report has no such finding yet
    fits: Callable[[dict], bool] = lambda plan: True  # whether such a program can have it
    memory: bool = False  # it costs memory, so that time does not show whether it matters


def has_loader(plan):
    return plan["loader"] != "none"


CATALOGUE = (
    # The loader.
    Fault("slow-storage", ("loader-wait",), has_loader),
    Fault("no-workers", ("loader-wait",), has_loader),
    Fault("heavy-decode", ("loader-wait",), has_loader),
    Fault("slow-collate", ("loader-wait",), has_loader),
    Fault("workers-restarted", ("loader-restarts", "loader-wait"), has_loader),
    # The host, between operators.
    Fault("metrics-in-python", ("host-work",)),
    Fault("metrics-in-numpy", ("host-work",)),
    Fault("parses-settings", ("host-work",)),
    Fault("compresses-log", ("host-work",)),
    Fault("hashes-a-file", ("host-work",)),
    Fault("garbage-collection", ("garbage-collection", "host-work")),
    Fault("checkpoint-each-step", ("checkpoint-stall", "host-work", "host-not-running")),
    Fault("checkpoint-now-and-then", ("checkpoint-stall", "slow-steps", "host-work", "host-not-running")),
    Fault("flushed-log", ("host-not-running", "host-work")),
    Fault("waits-for-a-lock", ("host-not-running",)),
    Fault("waits-for-a-server", ("host-not-running",)),
    Fault("sleeps", ("host-not-running",)),
    Fault("anomaly-detection", ("debug-mode",)),
    # The device's work.
    Fault("sample-by-sample", ("batch-in-parts", "tiny-kernels", "launch-bound"), lambda plan: plan["family"] in ("mlp", "cnn", "rnn")),
    Fault("bias-before-norm", ("bias-before-norm",), lambda plan: plan["family"] in NORMED),
    Fault("gradients-zeroed", ("zero-grad",)),
    Fault("looped-optimizer", ("optimizer-fused", "tiny-kernels")),
    Fault("averages-by-loop", ("side-work", "tiny-kernels", "host-work", "launch-bound")),
    Fault("copies-weights", ("side-work", "tiny-kernels", "host-work")),
    Fault("double-forward", ("unused-gradients",)),
    Fault("double-precision-round-trip", ("dtype-round-trip",)),
    Fault("evaluates-with-gradients", ("unused-gradients",), lambda plan: plan["evaluates"]),
    Fault("too-many-threads", ("too-many-threads",)),
    # Memory.
    Fault("keeps-graphs", ("memory-leak",), memory=True),
    # Getting such memory from the system, and giving it back, takes the host's time.
    Fault("large-temporary", ("memory-spike", "host-work"), memory=True),
)
BY_NAME = {fault.name: fault for fault in CATALOGUE}
# Faults that would hide each other, or one that removes another.
EXCLUSIVE = (
    {"slow-storage", "no-workers", "heavy-decode", "slow-collate", "workers-restarted"},
    {"checkpoint-each-step", "checkpoint-now-and-then"},
    {"keeps-graphs", "large-temporary"},
)


def go_together(first, second, exclusive=EXCLUSIVE):
    return first != second and not any({first, second} <= group for group in exclusive)
