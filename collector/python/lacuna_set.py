# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Applies settings to a PyTorch program from inside, with no change to it: `lacuna run --set` (docs/pytorch.md).

LACUNA_SET holds the settings, as in "loader.workers=4,optimizer.fused=on"; `lacuna run` has checked them. LACUNA_SET_REPORT
names a file for what was set and what was not; without it a summary goes to standard error when the program ends.
A setting never ends the program: where PyTorch refuses it, it is left out, and the reason is reported."""

import atexit
import functools
import os
import sys

import lacuna_set_model
from lacuna_ledger import Ledger, Setting, site
from lacuna_set_loader import LoaderSettings
from lacuna_set_optimizer import DroppedGradients, FusedOptimizer


def parse(text):
    """The settings by name; a name that is given twice has its last value."""
    pairs = (word.split("=", 1) for word in text.split(",") if "=" in word)
    return {name.strip(): value.strip() for name, value in pairs}


class NoDebug:
    """debug=off: anomaly detection, NVTX and ITT emission and gradient checks do nothing."""

    def __init__(self, torch, setting):
        self.torch = torch
        self.setting = setting

    def install(self):
        self.install_anomaly()
        autograd = self.torch.autograd
        for name in ("emit_nvtx", "emit_itt"):
            self.install_emitter(getattr(getattr(autograd, "profiler", None), name, None), name)
        for name in ("gradcheck", "gradgradcheck"):
            self.install_check(name)

    def note(self, thing, was):
        self.setting.applied(thing, was, site(self.torch))

    def install_anomaly(self):
        """Both context managers come down to this call."""
        original = getattr(self.torch, "set_anomaly_enabled", None)
        if original is None:
            return

        @functools.wraps(original)
        def set_anomaly_enabled(mode, check_nan=True):
            if mode:
                self.note("switch of anomaly detection", "on")
            return original(False, check_nan)

        self.torch.set_anomaly_enabled = set_anomaly_enabled

    def install_emitter(self, kind, name):
        original = vars(kind).get("__init__") if kind is not None else None
        if original is None:
            return
        mine = self

        @functools.wraps(original)
        def __init__(self, enabled=True, *arguments, **named):
            if enabled:
                mine.note(f"use of {name}", "on")
            original(self, False, *arguments, **named)

        kind.__init__ = __init__

    def install_check(self, name):
        def passed(*arguments, **named):
            self.note(f"call of {name}", "on")
            return True

        for holder in (self.torch.autograd, sys.modules.get("torch.autograd.gradcheck")):
            if callable(getattr(holder, name, None)):
                setattr(holder, name, passed)


class Threads:
    """threads=N: of operators on the CPU. The program's own choice does not count any more; a loader's workers keep theirs."""

    def __init__(self, torch, setting):
        self.torch = torch
        self.setting = setting

    def install(self):
        torch, setting, original = self.torch, self.setting, self.torch.set_num_threads
        was = torch.get_num_threads()
        original(int(setting.value))
        setting.same("process") if was == int(setting.value) else setting.applied("process", was)

        @functools.wraps(original)
        def set_num_threads(number):
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.startswith("torch.utils.data") or os.getpid() != setting.ledger.process:
                return original(number)
            if number != int(setting.value):
                setting.applied("call of torch.set_num_threads", number, site(torch))
            return None

        torch.set_num_threads = set_num_threads


class Precision:
    """matmul=highest, high or medium."""

    def __init__(self, torch, setting):
        self.torch = torch
        self.setting = setting

    def install(self):
        torch, setting, original = self.torch, self.setting, self.torch.set_float32_matmul_precision
        was = torch.get_float32_matmul_precision()
        original(setting.value)
        setting.same("process") if was == setting.value else setting.applied("process", was)

        @functools.wraps(original)
        def set_float32_matmul_precision(precision):
            if precision != setting.value:
                setting.applied("call of torch.set_float32_matmul_precision", precision, site(torch))

        torch.set_float32_matmul_precision = set_float32_matmul_precision


class Environment:
    """Settings that PyTorch or the driver reads early, so they must be there before. They are set when Python starts,
    and again when it has imported PyTorch, because scripts set variables themselves."""

    ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")

    def __init__(self, settings):
        self.settings = settings

    def prepare(self):
        self.clear("debug", "CUDA_LAUNCH_BLOCKING")
        self.clear("allocator", "PYTORCH_NO_CUDA_MEMORY_CACHING")
        allocator = self.settings.get("allocator")
        if allocator is not None and allocator.value == "expandable":
            self.expand(allocator)

    def clear(self, name, variable):
        setting = self.settings.get(name)
        if setting is None or setting.value == "expandable" or os.environ.get(variable, "0") in ("", "0"):
            return
        setting.applied(f"variable {variable}", os.environ.pop(variable))

    def expand(self, setting):
        for variable in self.ALLOCATOR:
            was = os.environ.get(variable, "")
            if "expandable_segments:True" in was:
                continue
            kept = [each for each in was.split(",") if each and not each.startswith("expandable_segments")]
            os.environ[variable] = ",".join([*kept, "expandable_segments:True"])
            setting.applied(f"variable {variable}", was or "not set")

    def install(self, torch):
        self.prepare()
        setting = self.settings.get("allocator")
        original = getattr(getattr(torch, "cuda", None), "empty_cache", None)
        if setting is None or setting.value != "cached" or original is None:
            return

        @functools.wraps(original)
        def empty_cache():
            setting.applied("call of torch.cuda.empty_cache", "emptied", site(torch))

        torch.cuda.empty_cache = empty_cache


class Settings:
    """All settings of this process."""

    def __init__(self, text, path=None):
        self.ledger = Ledger(path)
        self.by_name = {name: Setting(name, value, self.ledger) for name, value in parse(text).items()}
        self.environment = Environment(self.by_name)

    def prepare(self):
        """When Python starts: PyTorch is not there yet."""
        self.environment.prepare()
        atexit.register(self.ledger.close)

    def install(self, torch, cpu_only):
        """Runs when PyTorch is there. A feature that this version lacks costs only its own setting."""
        loader = {name: self.by_name[name] for name in LoaderSettings.NAMES if name in self.by_name}
        if loader:
            self.attempt(next(iter(loader.values())), LoaderSettings(torch, loader, cpu_only).install)
        if "allocator" in self.by_name or "debug" in self.by_name:
            self.environment.install(torch)
        kinds = {"optimizer.fused": FusedOptimizer, "zero_grad": DroppedGradients, "debug": NoDebug, "threads": Threads,
                 "matmul": Precision}
        for name, kind in kinds.items():
            if name in self.by_name:
                self.attempt(self.by_name[name], kind(torch, self.by_name[name]).install)
        lacuna_set_model.install(torch, self.by_name, self.attempt)

    @staticmethod
    def attempt(setting, install):
        try:
            install()
        except Exception as error:
            setting.refused("process", f"this PyTorch does not have what it needs ({type(error).__name__}: {error})")
