# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of a training and their phases: backward passes, optimizers, checkpoints, garbage collections."""

import functools
import gc
import os
import sys
import threading
import time
import weakref

from lacuna_emitter import PHASE, ROLES, Phase


class Steps:
    """One iteration of training. It lasts from its first sign (a batch is asked for, a model is called) to the end of
    the step of one optimizer, the leader. The leader is the first that stepped, or the one that steps last before each
    batch, so a game of two networks ends with the second one's part. When the leader is gone, or steps no more (a model
    for each fold), another takes its place. Phases are its load, forward, backward and optimizer parts."""

    PATIENCE = 16  # steps of others in a row that are nothing unusual, as of a critic that is trained more often
    PROOF = 3  # batches in a row before which another was last; a critic's steps have batches between them

    first_ns = None  # when this program's first step began; the package lacuna reads it

    def __init__(self, emitter):
        self.emitter = emitter
        self.index = 0
        self.signs = 0  # of training, so far; besides forwards, which the emitter counts
        self.level = None
        self.thread = None
        self.leader = lambda: None  # the optimizer whose step ends a step, as long as the program keeps it
        self.others = 0  # steps of other optimizers since its last one
        self.most_others = 0  # between two of its steps
        self.last = lambda: None  # the optimizer that stepped last since a batch was asked for
        self.heir = lambda: None  # an optimizer that was last instead of the leader
        self.proofs = 0  # batches in a row before which it was
        self.process = os.getpid()
        self.detail = None  # decides which steps are plain; without it none is

    def ours(self):
        return os.getpid() == self.process

    def begin(self, samples=0):
        self.signs += 1
        if self.level is not None or not self.ours():
            return
        if threading.current_thread() is not threading.main_thread():
            return
        if Steps.first_ns is None:
            Steps.first_ns = time.monotonic_ns()
        plain = self.detail is not None and self.detail.step_begins(self.index)
        self.level = self.emitter.open_step(self.index, samples, int(plain))
        self.thread = threading.get_ident()

    def ask_for_batch(self):
        """A step begins, and shows which optimizer ended the one before."""
        if self.last() is not None and self.ours():
            self.proofs = self.proofs + 1 if self.last() is self.heir() else 1
            self.heir = self.last
            if self.proofs >= self.PROOF and self.heir() is not self.leader():
                self.leader = self.heir
                self.others = self.most_others = 0
            self.last = lambda: None
        self.begin()

    def end(self, optimizer):
        self.last = weakref.ref(optimizer)
        if self.leader() is None or self.others >= max(self.PATIENCE, 2 * self.most_others):
            self.leader = weakref.ref(optimizer)
            self.others = 0
        if self.leader() is not optimizer:
            self.others += 1
            return
        self.most_others = max(self.most_others, self.others)
        self.others = 0
        if self.level is None or self.thread != threading.get_ident():
            return
        self.emitter.close_step(self.level)
        self.level = None
        self.index += 1
        if self.detail is not None:
            self.detail.step_ends()


class Modes:
    """Settings of PyTorch that change what every step costs. They count where a backward pass begins, so they are read
    there; a program may switch them on around each pass, or for a validation. They are reported when they change."""

    def __init__(self, torch, emitter):
        self.torch = torch
        self.emitter = emitter
        self.reported = {}
        self.anomaly = getattr(torch, "is_anomaly_enabled", lambda: False)
        autograd = getattr(getattr(torch, "_C", None), "_autograd", None)
        self.profiler = getattr(autograd, "_profiler_type", lambda: None)
        # The driver reads it once, when it starts.
        self.blocking = os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")

    def on_gpu(self):
        cuda = getattr(self.torch, "cuda", None)
        return cuda is not None and cuda.is_initialized()

    def debug(self):
        if self.anomaly():
            return "anomaly detection"
        if getattr(self.profiler(), "name", "") == "NVTX":
            return "emit_nvtx"
        return "blocking launches" if self.blocking and self.on_gpu() else "off"

    def autotune(self):
        """cuDNN's search. On the CPU there is none."""
        if not self.on_gpu():
            return None
        return "on" if self.torch.backends.cudnn.benchmark else "off"

    def report(self):
        try:
            found = {"debug": self.debug(), "autotune": self.autotune()}
        except Exception:  # a version of PyTorch that keeps them elsewhere; the program goes on
            self.report = lambda: None
            return
        for name, value in found.items():
            if value is not None and self.reported.get(name) != value:
                self.reported[name] = value
                self.emitter.knob(name.encode(), value.encode())
                if value == "anomaly detection":
                    self.emitter.call_inside_modules(1)  # lacuna_modules.StackCost


def install_backward(torch, emitter, steps):
    original = torch.autograd.backward
    modes = Modes(torch, emitter)

    @functools.wraps(original)
    def backward(*arguments, **named):
        steps.begin()
        modes.report()
        with Phase(emitter, b"backward", "gradient"):
            return original(*arguments, **named)

    backward._torchdynamo_disable = True
    torch.autograd.backward = backward


def install_optimizer(torch, emitter, steps):
    """PyTorch's own hooks around every optimizer's step. A step that raises leaves its phase open until the next range
    of this thread that encloses it is closed."""
    hooks = sys.modules["torch.optim.optimizer"]
    open_phases = {}
    attributed = {}  # by id, which goes to another when its owner is gone

    def before(optimizer, arguments, named):
        steps.begin()
        phase = Phase(emitter, b"optimizer", "optimizer")
        open_phases[id(optimizer), threading.get_ident()] = phase
        phase.__enter__()

    def after(optimizer, arguments, named):
        phase = open_phases.pop((id(optimizer), threading.get_ident()), None)
        if phase is not None:
            phase.__exit__()
        known = attributed.get(id(optimizer))
        if known is None or known() is not optimizer:
            attributed[id(optimizer)] = weakref.ref(optimizer)
            attribute_memory(emitter, optimizer)
        steps.end(optimizer)

    hooks.register_optimizer_step_pre_hook(before)
    hooks.register_optimizer_step_post_hook(after)


def install_checkpoint(torch, emitter, steps):
    """torch.save, and what the program waits for behind it until the file is on the disk, before training goes on."""
    saved = None  # by which thread, at which sign of training

    def now():
        return threading.get_ident(), steps.signs, emitter.forwards()

    def saves(original):
        @functools.wraps(original)
        def save(*arguments, **named):
            nonlocal saved
            with Phase(emitter, b"checkpoint", "other"):
                result = original(*arguments, **named)
            saved = now()
            return result

        return save

    def syncs(original):
        @functools.wraps(original)
        def through(*arguments, **named):  # a sample in it counts as the program's call, by this name
            if saved != now():
                return original(*arguments, **named)
            with Phase(emitter, b"checkpoint sync", "other"):
                return original(*arguments, **named)

        return through

    if hasattr(torch, "save"):
        torch.save = saves(torch.save)
        for name in ("fsync", "fdatasync"):
            if hasattr(os, name):
                setattr(os, name, syncs(getattr(os, name)))


def install_garbage_collection(emitter):
    """A range for each collection of all generations; of the young ones, which take microseconds, there are thousands."""
    oldest = len(gc.get_threshold()) - 1
    levels = {}

    def collects(phase, info):
        thread = threading.get_ident()
        if phase == "start" and info["generation"] >= oldest:
            levels[thread] = emitter.open(PHASE, b"garbage collection")
        elif phase == "stop" and thread in levels:
            emitter.close(levels.pop(thread))

    gc.callbacks.append(collects)


def attribute_memory(emitter, optimizer):
    """After an optimizer's first step it is known what its long-lived memory is for."""

    def announce(tensor, role, name):
        storage = tensor.untyped_storage()
        device = tensor.device.index if tensor.device.type == "cuda" else -1
        emitter.tensor(storage.data_ptr(), storage.nbytes(), ROLES[role], device or 0 if device != -1 else -1, name)

    try:
        for number, group in enumerate(optimizer.param_groups):
            for position, parameter in enumerate(group["params"]):
                name = f"group{number}.{position}"
                announce(parameter, "parameter", name.encode())
                for key, value in optimizer.state.get(parameter, {}).items():
                    if hasattr(value, "untyped_storage") and value.numel() > 1:
                        announce(value, "optimizer", f"{name}.{key}".encode())
    except Exception:  # exotic tensors have no storage; their memory keeps the role of its phase
        pass
