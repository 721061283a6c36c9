# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of data loaders: loader.workers, loader.prefetch, loader.persistent, loader.pin."""

import functools
import inspect
import multiprocessing.process

from lacuna_ledger import APPLIED, REFUSED, SAME, site


def mentions(code, word):
    """Whether a function's code, or a function's inside it, uses that name."""
    if code is None:
        return False
    inner = (constant for constant in code.co_consts if inspect.iscode(constant))
    return word in code.co_names or any(mentions(each, word) for each in inner)


def divides_its_data(loader):
    """Whether an iterable dataset gives each worker a part of its own, as far as its code shows."""
    functions = [getattr(loader, "worker_init_fn", None)]
    for kind in type(loader.dataset).__mro__:
        functions += [each for each in vars(kind).values() if inspect.isfunction(each)]
    return any(mentions(getattr(each, "__code__", None), "get_worker_info") for each in functions)


def holds_device_tensors(dataset):
    """Whether tensors of a GPU are among its attributes: a worker cannot reach them."""
    for value in getattr(dataset, "__dict__", {}).values():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if getattr(each, "is_cuda", False):
                return True
    return False


class LoaderSettings:
    """Settings of loaders that train: those from which a batch is first asked for while gradients are switched on. They are
    changed there, before workers start, and not where the loader was made, for there nothing shows what it is for."""

    NAMES = ("loader.workers", "loader.prefetch", "loader.persistent", "loader.pin")

    def __init__(self, torch, settings, cpu_only):
        self.torch = torch
        self.settings = settings
        self.cpu_only = cpu_only

    def install(self):
        kind = self.torch.utils.data.dataloader.DataLoader
        original_init, original_iter = kind.__init__, kind.__iter__
        mine = self

        @functools.wraps(original_init)
        def __init__(self, *arguments, **named):
            original_init(self, *arguments, **named)
            self.__dict__.setdefault("_lacuna_site", site(mine.torch))

        @functools.wraps(original_iter)
        def __iter__(self):
            if mine.torch.is_grad_enabled() and "_lacuna_set" not in self.__dict__:
                self.__dict__["_lacuna_set"] = True
                mine.apply(self)
            return original_iter(self)

        kind.__init__ = __init__
        kind.__iter__ = __iter__

    def apply(self, loader):
        place = loader.__dict__.get("_lacuna_site", "")
        for name in self.NAMES:  # in this order: the setting of workers decides what the others may be
            setting = self.settings.get(name)
            if setting is None:
                continue
            change = getattr(self, name.split(".")[1])
            try:
                outcome, text = change(loader, setting)
            except Exception as error:
                outcome, text = REFUSED, f"{type(error).__name__}: {error}"
            if outcome == APPLIED:
                setting.applied("DataLoader", text, place)
            elif outcome == SAME:
                setting.same("DataLoader", place)
            else:
                setting.refused("DataLoader", text, place)

    def why_no_workers(self, loader, wanted):
        iterable = isinstance(loader.dataset, getattr(self.torch.utils.data, "IterableDataset", ()))
        if iterable and wanted > 1 and loader.num_workers < 2 and not divides_its_data(loader):
            return (f"its dataset is iterable and does not divide its data among workers (get_worker_info), so each sample "
                    f"would come {wanted} times")
        if loader.num_workers > 0:
            return None
        if multiprocessing.process.current_process().daemon:
            return "this process is a daemon, which may not start workers"
        method = self.torch.multiprocessing.get_start_method()
        if method != "fork":
            return f"workers are started by {method} here, which runs the script anew and needs data that can be pickled"
        if holds_device_tensors(loader.dataset):
            return "its dataset holds tensors of the GPU, which workers cannot reach"
        return None

    def workers(self, loader, setting):
        wanted, was = int(setting.value), loader.num_workers
        if wanted == was:
            return SAME, ""
        why = self.why_no_workers(loader, wanted) if wanted > 0 else None
        if why is not None:
            return REFUSED, why
        if wanted == 0:  # what only workers may have
            loader.prefetch_factor, loader.timeout, loader.multiprocessing_context = None, 0, None
            object.__setattr__(loader, "persistent_workers", False)
        elif loader.prefetch_factor is None:
            loader.prefetch_factor = 2  # PyTorch's own
        loader.num_workers = wanted
        return APPLIED, str(was)

    NO_WORKERS = "it has no workers; set loader.workers, too"

    def prefetch(self, loader, setting):
        wanted, was = int(setting.value), loader.prefetch_factor
        if loader.num_workers == 0:
            return REFUSED, self.NO_WORKERS
        if wanted == was:
            return SAME, ""
        loader.prefetch_factor = wanted
        return APPLIED, str(was)

    def persistent(self, loader, setting):
        if loader.persistent_workers == setting.on:
            return SAME, ""
        if loader.num_workers == 0:
            return REFUSED, self.NO_WORKERS
        object.__setattr__(loader, "persistent_workers", setting.on)  # PyTorch refuses to set it later, for no loader of ours
        return APPLIED, "off" if setting.on else "on"

    def pin(self, loader, setting):
        if bool(loader.pin_memory) == setting.on:
            return SAME, ""
        if setting.on and self.cpu_only:
            return REFUSED, "there is no GPU, and nothing is copied to one"
        if setting.on and holds_device_tensors(loader.dataset):
            return REFUSED, "its dataset holds tensors of the GPU, and only memory of the host can be pinned"
        loader.pin_memory = setting.on
        return APPLIED, "off" if setting.on else "on"
