# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Times the steps of a PyTorch program that is not recorded: `lacuna tune`. A step is the recording's
(lacuna_training.Steps, or the program's own lacuna.step()). Nothing else is watched: no operator, no module, no memory.

LACUNA_STEP_TIMES names the file. Its lines are, each behind the number of the process,
    step NUMBER BEGIN END      nanoseconds of CLOCK_MONOTONIC
    loss NUMBER VALUE          of the first backward pass of some steps
    memory BYTES               the most that PyTorch had of the GPU's memory
    end REASON                 "steps": there were enough; "program": it ended by itself
LACUNA_STEPS ends the program after so many steps; the times are then whole, also of what a GPU still had to do."""

import atexit
import functools
import os
import sys
import threading
import time

LOSSES = 32  # read of a run, spread over its steps
WRITES_EVERY_NS = 1_000_000_000
GIVES_UP_AFTER_NS = 5_000_000_000  # a program that catches SystemExit is ended without its consent
program_steps = None  # the Times that hear of the program's own marks


class Times:
    """Takes the place of a recording's emitter, and keeps the times."""

    def __init__(self, path, steps):
        self.path = path
        self.most = steps
        self.lines = []
        self.losses = []  # copies that are read at the end: reading waits for the device
        self.stride = max(1, steps // LOSSES) if steps else 1
        self.ended = 0
        self.written_ns = time.monotonic_ns()
        self.enough_ns = None
        self.closed = False
        self.process = os.getpid()
        self.torch = None
        self.begin_ns = None  # of the step that lasts
        self.marked = False  # the program marks its steps itself

    # --- as lacuna_training.Steps calls it

    def open_step(self, index, samples, plain):
        if not self.marked:
            self.begin_ns = time.monotonic_ns()
        return 0

    def close_step(self, level):
        if not self.marked:
            self.end_step()

    # --- as the program marks its steps, with lacuna.step() and the callbacks of the package

    def program_begins(self):
        """From here on no step is inferred."""
        if os.getpid() == self.process:
            self.marked = True
            self.begin_ns = time.monotonic_ns()

    def program_ends(self):
        if os.getpid() != self.process:
            return
        self.marked = True
        if self.begin_ns is not None:
            self.end_step()

    def program_forgets(self):
        if self.marked:
            self.begin_ns = None

    def end_step(self):
        self.settle()
        now = time.monotonic_ns()
        self.lines.append(f"step {self.ended} {self.begin_ns} {now}\n")
        self.begin_ns = None
        self.ended += 1
        if self.most and self.ended >= self.most:
            self.finish("steps")
            self.leave(now)
        elif now - self.written_ns > WRITES_EVERY_NS:
            self.write()

    def settle(self):
        """The GPU is behind the program; where the time begins and ends to count, it has to catch up."""
        cuda = getattr(self.torch, "cuda", None)
        last = self.most and self.ended + 1 >= self.most
        if (last or self.ended + 1 == self.warm_up()) and cuda is not None and cuda.is_initialized():
            cuda.synchronize()

    def warm_up(self):
        return int(os.environ.get("LACUNA_WARM_UP_STEPS", "0") or 0)

    # --- losses

    def wants_loss(self):
        return self.ended % self.stride == 0 and (not self.losses or self.losses[-1][0] != self.ended) and len(self.losses) < 4 * LOSSES

    def keep_loss(self, tensors):
        tensor = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
        if getattr(tensor, "numel", lambda: 0)() == 1:
            self.losses.append((self.ended, tensor.detach().clone()))

    # --- the file

    def write(self):
        self.written_ns = time.monotonic_ns()
        lines, self.lines = self.lines, []
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("".join(f"{self.process} {line}" for line in lines))
        except OSError:
            pass

    def finish(self, reason):
        if self.closed or os.getpid() != self.process or self.ended == 0:
            return  # a worker, or a program that only starts the one that trains
        self.closed = True
        for index, tensor in self.losses:
            try:
                self.lines.append(f"loss {index} {float(tensor):.9g}\n")
            except Exception:  # a tensor without a value, as of the meta device
                break
        cuda = getattr(self.torch, "cuda", None)
        if cuda is not None and cuda.is_initialized():
            self.lines.append(f"memory {cuda.max_memory_allocated()}\n")
        self.lines.append(f"end {reason}\n")
        self.write()

    def leave(self, now):
        if self.enough_ns is None:
            self.enough_ns = now
        if now - self.enough_ns > GIVES_UP_AFTER_NS:
            os._exit(0)
        raise SystemExit(0)


def install(torch, times, steps):
    """The signs of a step: a batch is asked for, a backward pass, an optimizer's step. The first call of a model is no
    sign here, because it needs a hook on every module. Times are taken from one step's end to the next, so it does not
    matter."""
    times.torch = torch
    watch_loader(torch, steps)
    watch_backward(torch, times, steps)
    optimizer = sys.modules["torch.optim.optimizer"]
    optimizer.register_optimizer_step_pre_hook(lambda *_: steps.begin())
    optimizer.register_optimizer_step_post_hook(lambda optimizer, *_: steps.end(optimizer))


def watch_loader(torch, steps):
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    original = iterator.__next__

    @functools.wraps(original)
    def __next__(self):
        if steps.level is None and torch.is_grad_enabled() and not used_up(self):
            steps.begin()
        return original(self)

    iterator.__next__ = __next__


def used_up(iterator):
    try:
        return iterator._num_yielded >= len(iterator)
    except (AttributeError, TypeError, NotImplementedError):
        return False


def watch_backward(torch, times, steps):
    original = torch.autograd.backward
    main = threading.main_thread()

    @functools.wraps(original)
    def backward(tensors, *arguments, **named):
        steps.begin()
        if times.wants_loss() and threading.current_thread() is main:
            times.keep_loss(tensors)
        return original(tensors, *arguments, **named)

    backward._torchdynamo_disable = True
    torch.autograd.backward = backward


def prepare(steps_of):
    """Returns the function to call when PyTorch is there. `steps_of` makes the recording's Steps for a emitter. All ranks step
    together and end together."""
    global program_steps
    times = program_steps = Times(os.environ["LACUNA_STEP_TIMES"], int(os.environ.get("LACUNA_STEPS", "0") or 0))
    return lambda torch: begin(torch, times, steps_of(times))


def begin(torch, times, steps):
    install(torch, times, steps)
    atexit.register(times.finish, "program")
