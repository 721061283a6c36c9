# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Draws a training program by seed: its network, sizes, loader, optimizer, phases, and none, one or two faults. The same
seed always gives the same plan; nothing here needs PyTorch."""

import math
import random

from faults import BY_NAME, CATALOGUE, EXCLUSIVE, go_together

FAMILIES = ("mlp", "cnn", "transformer", "rnn", "recommender", "autoencoder", "gan")
LEAST_BATCHES = 4  # of an epoch
OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adagrad")


def between(draw, least, most):
    """A whole number, as often in each octave."""
    return round(math.exp(draw.uniform(math.log(least), math.log(most))))


def network(draw, family):
    if family == "mlp":
        return {"inputs": between(draw, 32, 512), "width": between(draw, 128, 1024), "depth": draw.randint(2, 6),
                "batch": between(draw, 32, 256)}
    if family == "cnn":
        return {"side": draw.choice((16, 24, 32)), "channels": between(draw, 8, 48), "depth": draw.randint(2, 5),
                "batch": between(draw, 8, 64)}
    if family == "transformer":
        heads = draw.choice((2, 4))
        return {"vocabulary": between(draw, 200, 4000), "length": between(draw, 16, 96), "heads": heads,
                "width": heads * draw.choice((16, 32, 64)), "depth": draw.randint(1, 4), "batch": between(draw, 4, 24)}
    if family == "rnn":
        return {"inputs": between(draw, 16, 128), "length": between(draw, 8, 48), "width": between(draw, 64, 256),
                "depth": draw.randint(1, 2), "batch": between(draw, 16, 64)}
    if family == "recommender":
        return {"tables": draw.randint(4, 16), "rows": between(draw, 1000, 20000), "width": between(draw, 8, 64),
                "hidden": between(draw, 64, 512), "depth": draw.randint(1, 3), "batch": between(draw, 64, 512)}
    if family == "autoencoder":
        return {"side": draw.choice((16, 32)), "channels": between(draw, 8, 32), "depth": draw.randint(1, 2),
                "batch": between(draw, 8, 48)}
    return {"inputs": between(draw, 64, 512), "noise": between(draw, 16, 64), "width": between(draw, 128, 512),
            "depth": draw.randint(1, 3), "batch": between(draw, 32, 128)}


def costs(draw):
    """How large each fault is, should the program have it."""
    return {
        "storage_ms": draw.uniform(20.0, 90.0),  # of a batch, asleep
        "decode_ms": draw.uniform(20.0, 90.0),  # of a batch, computing
        "collate_ms": draw.uniform(20.0, 60.0),
        "metric_ms": draw.uniform(4.0, 30.0),
        "lock_ms": draw.uniform(4.0, 30.0),
        "save_every": draw.choice((10, 15, 25)),
        "temporary_mib": draw.choice((128, 256, 384)),
        "threads": draw.choice((8, 12, 16)),
        "log_lines": draw.randint(2, 8),
        "numpy_ms": draw.uniform(4.0, 30.0),
        "parse_ms": draw.uniform(4.0, 30.0),
        "compress_ms": draw.uniform(4.0, 30.0),
        "server_ms": draw.uniform(4.0, 30.0),
        "sleep_ms": draw.uniform(2.0, 20.0),
        "hash_ms": draw.uniform(4.0, 30.0),
    }


def draw_faults(draw, plan, catalogue, exclusive):
    """None, one or two that fit the program and each other, by name."""
    wanted = draw.choices((0, 1, 2), (3, 5, 2))[0]
    possible = [fault.name for fault in catalogue if fault.fits(plan)]
    draw.shuffle(possible)
    faults = []
    for name in possible:
        if len(faults) < wanted and all(go_together(name, other, exclusive) for other in faults):
            faults.append(name)
    return sorted(faults)


def draw(seed):
    draw_from = random.Random(seed)
    family = draw_from.choice(FAMILIES)
    plan = {
        "seed": seed,
        "family": family,
        "network": (size := network(draw_from, family)),
        "loader": draw_from.choices(("workers", "own", "none"), (6, 2, 2))[0],
        "workers": draw_from.choice((1, 1, 2)),
        "prefetch": draw_from.choice((2, 2, 4)),
        # An epoch of a batch or two is hardly a training, and one of none never ends.
        "samples": max(between(draw_from, 256, 2048), LEAST_BATCHES * size["batch"]),
        "optimizer": draw_from.choice(OPTIMIZERS),
        "clips": draw_from.random() < 0.3,
        "schedules": draw_from.random() < 0.4,
        "accumulates": draw_from.choice((1, 1, 1, 2)),
        "evaluates": draw_from.random() < 0.4,
        "logs_every": draw_from.choice((10, 20, 50)),
        "costs": costs(draw_from),
    }
    plan["faults"] = draw_faults(draw_from, plan, CATALOGUE, EXCLUSIVE)
    return plan


def without(plan, names):
    """The plan when some of its faults, or "all", are repaired. Without its "loader" it has its batches in memory."""
    unknown = [name for name in names if name not in ("all", "loader") and name not in BY_NAME]
    if unknown:
        raise ValueError(f"there is no fault {', '.join(unknown)}; there are: {', '.join(BY_NAME)}")
    kept = [name for name in plan["faults"] if "all" not in names and name not in names]
    return {**plan, "faults": kept, "loader": "none" if "loader" in names else plan["loader"]}
