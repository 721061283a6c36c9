# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Draws training programs of the runtime by seed: flags of drawn_training (the folder runtime beside this file), and the
faults that such a program may have."""

import random

import pairs
from draw import between, draw_faults
from faults import Fault

NORMED = ("mlp", "cnn", "recommender", "autoencoder")
FAMILIES = ("mlp", "cnn", "transformer", "recommender", "autoencoder", "rnn")
OPTIMIZERS = ("sgd", "adam", "adamw", "lamb")


def has_loader(plan):
    return plan["loader"] != "memory"


def has_workers(plan):
    return plan["loader"] in ("workers", "processes")


def takes_numbers(plan):
    return plan["family"] not in ("transformer", "recommender")


CATALOGUE = (
    # The loader.
    Fault("slow-storage", ("loader-wait",), has_loader),
    Fault("no-workers", ("loader-wait",), has_loader),
    Fault("heavy-decode", ("loader-wait",), has_loader),
    Fault("slow-collate", ("loader-wait",), has_loader),
    Fault("workers-restarted", ("loader-restarts", "loader-wait"), lambda plan: plan["loader"] == "processes"),
    # The host, between operators.
    Fault("computes-metrics", ("host-work",)),
    Fault("sorts-metrics", ("host-work",)),
    Fault("parses-settings", ("host-work",)),
    Fault("reads-the-loss", ("sync-in-step",)),
    Fault("checkpoint-each-step", ("checkpoint-stall", "host-work", "host-not-running", "sync-in-step")),
    Fault("checkpoint-now-and-then", ("checkpoint-stall", "slow-steps", "host-work", "host-not-running", "sync-in-step")),
    Fault("flushed-log", ("host-not-running", "host-work", "sync-in-step")),
    Fault("waits-for-a-lock", ("host-not-running",)),
    Fault("waits-for-a-server", ("host-not-running",)),
    Fault("sleeps", ("host-not-running",)),
    Fault("anomaly-detection", ("debug-mode",)),
    # The device's work.
    Fault("sample-by-sample", ("tiny-kernels", "launch-bound"), lambda plan: plan["family"] in ("mlp", "cnn", "rnn")),
    Fault("useless-bias", ("bias-before-norm",), lambda plan: plan["family"] in NORMED),
    Fault("gradients-zeroed", ("zero-grad",)),
    Fault("looped-optimizer", ("optimizer-fused", "tiny-kernels")),
    Fault("copies-weights", ("side-work", "tiny-kernels", "host-work")),
    Fault("double-forward", ("unused-gradients",)),
    Fault("double-precision-round-trip", ("dtype-round-trip",), takes_numbers),
    Fault("evaluates-with-gradients", ("unused-gradients",), lambda plan: plan["evaluates"]),
    Fault("returns-memory", ("allocation-churn",)),
    # Memory.
    Fault("keeps-graphs", ("memory-leak",), memory=True),
    Fault("large-temporary", ("memory-spike",), memory=True),
)
BY_NAME = {fault.name: fault for fault in CATALOGUE}
# Two that would hide each other, or where one removes the other.
EXCLUSIVE = (
    {"slow-storage", "no-workers", "heavy-decode", "slow-collate", "workers-restarted"},
    {"checkpoint-each-step", "checkpoint-now-and-then", "flushed-log", "reads-the-loss"},
    {"keeps-graphs", "large-temporary", "returns-memory"},
)


def sizes(draw, family):
    if family == "mlp":
        return {"width": between(draw, 64, 768), "depth": draw.randint(2, 6), "batch": between(draw, 16, 256)}
    if family == "cnn":
        return {"width": between(draw, 8, 48), "depth": draw.randint(2, 5), "side": draw.choice((16, 24, 32)),
                "batch": between(draw, 8, 48)}
    if family == "transformer":
        return {"width": 4 * draw.choice((8, 16, 32, 48)), "depth": draw.randint(1, 4), "length": between(draw, 16, 96),
                "batch": between(draw, 4, 24)}
    if family == "recommender":
        return {"width": between(draw, 64, 512), "depth": draw.randint(1, 3), "length": draw.randint(4, 16),
                "batch": between(draw, 64, 512)}
    if family == "autoencoder":
        return {"width": between(draw, 8, 32), "depth": draw.randint(1, 3), "side": draw.choice((16, 32)),
                "batch": between(draw, 8, 48)}
    return {"width": between(draw, 64, 256), "depth": 1, "length": between(draw, 8, 32), "batch": between(draw, 16, 64)}


def draw(seed):
    draw_from = random.Random(seed)
    family = draw_from.choice(FAMILIES)
    plan = {
        "seed": seed,
        "family": family,
        **sizes(draw_from, family),
        "loader": draw_from.choices(("workers", "processes", "own", "memory"), (4, 2, 2, 2))[0],
        "workers": draw_from.choice((1, 1, 2)),
        "prefetch": draw_from.choice((2, 2, 4)),
        "optimizer": draw_from.choice(OPTIMIZERS),
        "clips": "on" if draw_from.random() < 0.3 else "off",
        "evaluates": draw_from.random() < 0.4,
        "accumulates": draw_from.choice((1, 1, 1, 2)),
        "fault-us": between(draw_from, 3000, 40000),
        "prepare-us": between(draw_from, 100, 2000),
        "save-every": draw_from.choice((5, 10, 20)),
    }
    plan["faults"] = draw_faults(draw_from, plan, CATALOGUE, EXCLUSIVE)
    return plan


def without(plan, names):
    """The plan when some of its faults, or "all", are repaired. Without its "loader" it has its batches in memory."""
    kept = [name for name in plan["faults"] if "all" not in names and name not in names]
    return {**plan, "faults": kept, "loader": "memory" if "loader" in names else plan["loader"]}


def flags(plan):
    values = {**plan, "faults": ",".join(plan["faults"]), "evaluates": "on" if plan["evaluates"] else "off"}
    return [word for name, value in values.items() for word in (f"--{name}", str(value))]


class Programs:
    """Drawn programs of the runtime, for score.py."""

    name, by_name, record_options = "runtime", BY_NAME, ()

    def __init__(self, program, seconds):
        self.program, self.seconds = program, seconds

    @staticmethod
    def draw(seed):
        return draw(seed)

    def words(self, seed, repaired):
        return [self.program, *flags(without(draw(seed), repaired)), "--seconds", str(self.seconds)]

    def turns(self, seed, repaired):
        """The turns of the program as it was drawn, and of the repaired one."""
        return pairs.compare(self.words(seed, ()), self.words(seed, repaired))
