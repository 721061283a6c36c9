# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Watches a PyTorch program from inside, with no change to it: steps and their phases, operators and the backward
graph, modules, the data loader here and in its workers, and memory. This file only decides when; liblacuna_torch.so
sends the events over NVTX in the schema of docs/nvtx-schema.md.

lacuna_start.py imports this file when the program itself has imported torch.
LACUNA_TORCH names the parts wanted, separated by commas (default: PARTS). LACUNA_DETAIL=some leaves most steps of a long
training plain (lacuna_detail.py)."""

import os
import sys

import lacuna_compile
import lacuna_cost
import lacuna_detail
import lacuna_emitter
import lacuna_loader
import lacuna_modules
import lacuna_operators
import lacuna_start
import lacuna_training

PARTS = ("operators", "shapes", "memory", "modules", "loader", "steps", "compile")
MORE = ("lines",)  # parts that are left out unless they are asked for

_modules = None  # the Modules of this program
_paused = False


def pause():
    """For a program that records itself: it has ended that for now."""
    global _paused
    if _modules is not None and not _paused:
        _modules.pause()
        _paused = True


def resume():
    """It records itself again."""
    global _paused
    if _paused:
        _paused = False
        _modules.resume()


def install(torch, emitter, parts=PARTS, steps=None):
    """Watches this torch. Each part alone: what a version of PyTorch does not have costs that part only. `steps` have been
    counted so far where the program was on standby."""
    steps = steps or lacuna_training.Steps(emitter)
    cpu_only = lacuna_operators.runs_on_cpu_only(torch)
    observed = False
    compilations = lacuna_compile.compilations()

    def operators():
        nonlocal observed
        why = lacuna_operators.install_operators(torch, emitter, cpu_only, "shapes" in parts)
        if why is not None:
            raise RuntimeError(why)
        observed = True

    def shapes():
        if observed and not lacuna_operators.find_inputs(torch, emitter):
            raise RuntimeError(f"PyTorch {torch.__version__} keeps the inputs of operators in a way that is not known")

    def lines():
        if observed and not lacuna_operators.find_lines(torch, emitter):
            raise RuntimeError("Python cannot be reached")

    def memory():
        if emitter.watch_memory(cpu_only) == 0:
            raise RuntimeError("no allocator reports")

    def steps_and_phases():
        lacuna_training.install_backward(torch, emitter, steps)
        lacuna_training.install_optimizer(torch, emitter, steps)
        lacuna_training.install_checkpoint(torch, emitter, steps)
        lacuna_training.install_garbage_collection(emitter)

    def modules():
        global _modules
        _modules = lacuna_modules.Modules(torch, emitter, steps, compilations)
        _modules.install()

    installers = {
        "operators": operators,
        "shapes": shapes,
        "lines": lines,
        "memory": memory,
        "modules": modules,
        "loader": lambda: lacuna_loader.Loader(torch, emitter, steps).install(),
        "steps": steps_and_phases,
        "compile": lambda: lacuna_compile.watch(emitter, compilations),
    }
    emitter.knob(b"torch.version", str(getattr(torch, "__version__", "?")).encode())
    with lacuna_cost.OwnCost(torch, emitter):
        for part in parts:
            try:
                installers[part]()
            except Exception as error:
                emitter.knob(f"torch.{part}".encode(), f"not recorded: {error}".encode())
                print(f"lacuna: PyTorch's {part} are not recorded: {error}", file=sys.stderr)


def wanted_parts(text):
    """Of "steps,loader": these. Of "+lines": all that are recorded anyway, and these."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    names = {word.removeprefix("+") for word in words}
    unknown = sorted(names.difference(PARTS, MORE))
    if unknown:
        print(f"lacuna: LACUNA_TORCH does not know {', '.join(unknown)}. Known: {', '.join(PARTS + MORE)}.", file=sys.stderr)
    if not words or all(word.startswith("+") for word in words):
        names.update(PARTS)
    return tuple(part for part in PARTS + MORE if part in names) or PARTS


def watch(torch):
    """Puts everything in place in a program that has imported torch."""
    try:
        emitter = lacuna_emitter.Emitter(lacuna_emitter.LIBRARY)
        if emitter.listening():
            steps = lacuna_training.Steps(emitter)
            install(torch, emitter, wanted_parts(os.environ.get("LACUNA_TORCH", "")), steps)
            if os.environ.get("LACUNA_DETAIL") == "some":
                steps.detail = lacuna_detail.Detail(emitter)
                steps.detail.watch_evaluations(torch.nn.Module)
    except Exception as error:
        print(f"lacuna: PyTorch is not watched: {error}", file=sys.stderr)
