# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps a PyTorch program on standby: counts its steps, and watches those that a `lacuna trigger` asks for as a recorded
program is watched. Before and after them nothing of the watchers is in the program: no observer of operators, no hook on
modules, no function in the place of PyTorch's. What watches the compiler stays after the first recording, and does
nothing. liblacuna_inject.so decides which steps are recorded.

lacuna_start.py imports this file when the program has imported torch."""

import ctypes
import functools
import gc
import os
import sys
import weakref

import lacuna_emitter
import lacuna_loader
import lacuna_modules
import lacuna_operators
import lacuna_torch
import lacuna_training

_INJECTION = os.path.abspath(os.path.join(os.path.dirname(lacuna_emitter.LIBRARY), "liblacuna_inject.so"))


class Places:
    """Where watching a program puts something: in the place of functions. Takes it out again."""

    def __init__(self, torch):
        dataloader = torch.utils.data.dataloader
        utils = dataloader._utils
        owners = [torch, torch.autograd, os, dataloader.DataLoader, dataloader._BaseDataLoaderIter, utils.worker]
        owners += [getattr(utils.fetch, name) for name in vars(utils.fetch) if name.endswith("DatasetFetcher")]
        owners += [torch.nn.Module]
        owners += [sys.modules[name] for name in ("torch.export", "torch._dynamo") if name in sys.modules]
        self.functions = [(owner, dict(vars(owner))) for owner in owners]
        self.callbacks = list(gc.callbacks)
        self.replaced = []

    def remember(self):
        """Call it when all is in place: what the program puts there later is its own."""
        for owner, before in self.functions:
            now = vars(owner)
            self.replaced += [(owner, name, now[name], old) for name, old in before.items() if now.get(name) is not old]
        self.callbacks = [callback for callback in gc.callbacks if callback not in self.callbacks]

    def remove(self):
        for owner, name, ours, old in self.replaced:
            if vars(owner).get(name) is ours:  # else somebody else's is in front of it
                setattr(owner, name, old)
        for callback in self.callbacks:
            if callback in gc.callbacks:
                gc.callbacks.remove(callback)


class OptimizerHooks:
    """PyTorch's hooks around the steps of optimizers cannot be added or removed in such a hook. So this one stays, and
    calls those that a recording adds."""

    def __init__(self, standby):
        self.standby = standby
        self.module = sys.modules["torch.optim.optimizer"]
        self.before, self.after = (), ()
        self.only = lambda: None  # the optimizer, as long as no other one has stepped
        self.several = False
        self.module.register_optimizer_step_pre_hook(self.call_before)
        self.module.register_optimizer_step_post_hook(self.call_after)

    def call_before(self, optimizer, arguments, named):
        for hook in self.before:
            hook(optimizer, arguments, named)

    def call_after(self, optimizer, arguments, named):
        if self.after:
            for hook in self.after:
                hook(optimizer, arguments, named)
        elif self.only() is optimizer and not self.several:
            self.standby.count()
        else:
            self.several = self.several or self.standby.steps.index > 0
            self.only = weakref.ref(optimizer)
            self.standby.steps.begin()
            self.standby.steps.end(optimizer)

    def collect(self, work):
        """Runs `work`, which registers hooks, and keeps them here."""
        before, after = [], []
        names = ("register_optimizer_step_pre_hook", "register_optimizer_step_post_hook")
        real = [getattr(self.module, name) for name in names]
        self.module.register_optimizer_step_pre_hook = before.append
        self.module.register_optimizer_step_post_hook = after.append
        try:
            work()
        finally:
            for name, function in zip(names, real):
                setattr(self.module, name, function)
        self.before, self.after = tuple(before), tuple(after)

    def clear(self):
        self.before, self.after = (), ()


class Standby:
    """Takes the place of a recording's emitter in lacuna_training.Steps, whose counting never stops."""

    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.step_ended = library.lacunaInjectStep
        self.step_ended.argtypes = ()
        self.emitter = None  # while a recording runs
        self.places = None
        self.steps = lacuna_training.Steps(self)
        self.optimizers = OptimizerHooks(self)
        self.watch_batches()

    def watch_batches(self):
        """Which of several optimizers ends a step shows where a batch is asked for."""
        iterator = self.torch.utils.data.dataloader._BaseDataLoaderIter
        original = iterator.__next__
        standby = self

        @functools.wraps(original)
        def __next__(self):
            if standby.optimizers.several and standby.emitter is None:
                if standby.torch.is_grad_enabled() and not lacuna_loader.Loader.used_up(self):
                    standby.steps.ask_for_batch()
            return original(self)

        iterator.__next__ = __next__

    def count(self):
        """A step without anything else: all that a program with one optimizer pays."""
        recorded = self.step_ended()
        self.steps.index += 1
        self.turn(recorded)

    def turn(self, recorded):
        if recorded and self.emitter is None:
            self.guarded(self.begin)
        elif not recorded and self.emitter is not None:
            self.guarded(self.end)

    # --- as lacuna_training.Steps calls it

    def open_step(self, index, samples, plain):
        return self.emitter.open_step(index, samples, plain) if self.emitter is not None else 0

    def close_step(self, level):
        if self.emitter is not None:
            self.emitter.close_step(level)
            self.settle()
        self.turn(self.step_ended())

    def settle(self):
        """Waits for the GPU: the work it still has to do belongs to the steps that are recorded."""
        cuda = getattr(self.torch, "cuda", None)
        if self.library.lacunaInjectIsLastStep() and cuda is not None and cuda.is_initialized():
            cuda.synchronize()

    @staticmethod
    def guarded(work):
        try:
            work()
        except Exception as error:  # the program goes on unwatched
            print(f"lacuna: PyTorch is not watched: {error}", file=sys.stderr)

    def begin(self):
        emitter = lacuna_emitter.Emitter(lacuna_emitter.LIBRARY)
        if not emitter.listening():
            return
        self.emitter = emitter
        self.places = Places(self.torch)
        parts = self.parts()
        try:
            self.optimizers.collect(lambda: lacuna_torch.install(self.torch, emitter, parts, self.steps))
        finally:
            self.places.remember()

    def end(self):
        emitter, self.emitter = self.emitter, None
        self.optimizers.clear()
        self.places.remove()
        lacuna_modules.leave_owners()
        emitter.leave()

    def parts(self):
        parts = lacuna_torch.wanted_parts(os.environ.get("LACUNA_TORCH", ""))
        for part, why in self.left_out().items():
            if part in parts:
                self.emitter.knob(f"torch.{part}".encode(), f"not recorded: {why}".encode())
                parts = tuple(other for other in parts if other != part)
        return parts

    def left_out(self):
        """The parts that cannot begin in the middle of a program."""
        found = {}
        if lacuna_operators.runs_on_cpu_only(self.torch):
            # PyTorch warns about each block that was allocated before somebody counted.
            found["memory"] = "memory that was allocated before has no size on the CPU"
        dynamo = sys.modules.get("torch._dynamo.utils")
        if dynamo is not None and getattr(dynamo, "counters", {}).get("frames"):
            found["modules"] = "hooks would have compiled code compiled again"
        return found


def prepare(torch):
    """False where this process is not on standby."""
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if not os.path.exists(path) or not os.path.samefile(path, _INJECTION):
        return False  # another library listens to NVTX; lacuna run has reported it
    library = ctypes.PyDLL(_INJECTION)
    if library.lacunaInjectStandby() == 0:
        return False
    Standby(torch, library)
    return True
