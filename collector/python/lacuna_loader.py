# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Data loading: the wait of the training, and the work of the loader's processes."""

import functools
import inspect

import lacuna_frames
from lacuna_emitter import Phase


class Loader:
    """The consumer's wait for a batch; in the workers the fetch, its collation, and the wait for the next order."""

    # The key of a worker's loader in the data that Python hands on to each process that it starts. A worker that is
    # spawned or comes from a fork server has nothing of its parent's state.
    KEY = "lacuna_loader"

    def __init__(self, torch, emitter, steps):
        self.torch = torch
        self.emitter = emitter
        self.steps = steps
        self.loaders = 0
        self.described = set()  # numbers of those whose settings were sent
        self.training_reported = False
        self.worker = -1
        self.number = 0
        self.batch = 0

    @staticmethod
    def handed_on():
        from multiprocessing import process  # here, for a program without PyTorch need not pay for it

        return getattr(process.current_process(), "_config", {})

    def install(self):
        dataloader = self.torch.utils.data.dataloader
        utils = dataloader._utils
        self.install_consumer(dataloader._BaseDataLoaderIter)
        self.install_start(dataloader.DataLoader)
        self.install_fetch(utils.fetch)
        self.install_worker(utils.worker)

    def install_consumer(self, iterator):
        original_init, original_next = iterator.__init__, iterator.__next__
        loader = self

        @functools.wraps(original_init)
        def __init__(self, source, *arguments, **named):
            self._lacuna_loader = loader.number_of(source)
            loader.number = self._lacuna_loader
            self._lacuna_batch = 0
            # It stays there: workers are started when this, which is the base class's, has returned.
            loader.handed_on()[loader.KEY] = loader.number
            original_init(self, source, *arguments, **named)

        @functools.wraps(original_next)
        def __next__(self):
            return loader.wait(self, original_next)

        iterator.__init__ = __init__
        iterator.__next__ = __next__

    def number_of(self, source):
        number = getattr(source, "_lacuna_loader", None)
        if number is None:
            number = self.loaders
            try:
                source._lacuna_loader = number
            except AttributeError:
                pass
        self.loaders = max(self.loaders, number + 1)  # an earlier recording may have given it
        if number not in self.described:
            self.described.add(number)
            self.announce_knobs(source)
        return number

    def install_start(self, dataloader):
        original = dataloader.__iter__
        loader = self

        @functools.wraps(original)
        def __iter__(self):
            # Workers that are kept begin the next epoch when they have given up the last one.
            if not getattr(self, "num_workers", 0):
                return original(self)
            number = getattr(self, "_lacuna_loader", loader.loaders)
            with Phase(loader.emitter, b"load", "input"):
                level = loader.emitter.open_loader(b"start", 0, number, -1)
                try:
                    return original(self)
                finally:
                    loader.emitter.close(level)

        dataloader.__iter__ = __iter__

    def wait(self, iterator, original_next):
        emitter = self.emitter
        number = getattr(iterator, "_lacuna_loader", 0)
        # Without gradients it is a validation, whose batches are no part of the training step that follows.
        used_up = self.used_up(iterator)
        if self.torch.is_grad_enabled() and not used_up:
            self.steps.ask_for_batch()
        self.announce_depth(iterator, number)
        yielded = getattr(iterator, "_num_yielded", None)
        # Workers that are kept for the next epoch count from 0 again, too. An iterator may be older than the recording.
        if yielded == 0 or not hasattr(iterator, "_lacuna_batch"):
            iterator._lacuna_batch = yielded or 0
        self.batch = iterator._lacuna_batch
        self.number = number
        with Phase(emitter, b"load", "input"):
            # Behind the last batch the workers are ended.
            level = emitter.open_loader(b"stop" if used_up else b"wait", self.batch, number, -1)
            try:
                batch = original_next(iterator)
                iterator._lacuna_batch += 1
                return batch
            finally:
                emitter.close(level)

    @staticmethod
    def used_up(iterator):
        """True when the next batch would be one more than there are: no step begins with the end of an epoch."""
        try:
            return iterator._num_yielded >= len(iterator)
        except (AttributeError, TypeError, NotImplementedError):
            return False

    def announce_knobs(self, source):
        # The settings that are sent last are those of the run: a validation's, without gradients, must not be.
        training = self.torch.is_grad_enabled()
        if self.training_reported and not training:
            return
        self.training_reported = training
        batch = source.batch_size or getattr(getattr(source, "batch_sampler", None), "batch_size", None)
        knobs = {
            "loader.workers": source.num_workers,
            "loader.prefetch": source.prefetch_factor or 0,
            "loader.pin": "on" if source.pin_memory else "off",
        }
        if batch:
            knobs["batch"] = batch
        for name, value in knobs.items():
            self.emitter.knob(name.encode(), str(value).encode())

    def announce_depth(self, iterator, number):
        """Batches that are ready: in the queue, and those that came out of order."""
        try:
            ready = iterator._data_queue.qsize()
            ready += sum(1 for task in iterator._task_info.values() if len(task) == 2)
        except (AttributeError, NotImplementedError, OSError):
            return
        self.emitter.loader_depth(number, ready)

    def install_fetch(self, fetch):
        loader = self
        for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            fetcher = getattr(fetch, name)
            fetcher.fetch = loader.staged(fetcher.fetch, b"fetch")
        original = fetch._BaseDatasetFetcher.__init__

        @functools.wraps(original)
        def __init__(self, *arguments, **named):
            original(self, *arguments, **named)
            self.collate_fn = loader.staged(self.collate_fn, b"collate")

        fetch._BaseDatasetFetcher.__init__ = __init__

    def staged(self, function, stage):
        def call(*arguments, **named):
            level = self.emitter.open_loader(stage, self.batch, self.number, self.worker)
            try:
                return function(*arguments, **named)
            finally:
                self.emitter.close(level)

        return functools.wraps(function)(call) if hasattr(function, "__name__") else call

    def install_worker(self, module):
        original = module._worker_loop
        signature = inspect.signature(original)
        loader = self

        @functools.wraps(original)
        def _worker_loop(*arguments, **named):
            bound = signature.bind(*arguments, **named)
            loader.worker = bound.arguments["worker_id"]
            loader.number = loader.handed_on().get(loader.KEY, loader.number)
            lacuna_frames.work_for_another()
            loader.emitter.executions(0)  # what a worker runs is preparation, not the device's work
            loader.emitter.name_thread(f"DataLoader worker {loader.worker}".encode())
            bound.arguments["index_queue"] = Orders(loader, bound.arguments["index_queue"])
            return original(*bound.args, **bound.kwargs)

        module._worker_loop = _worker_loop


class Orders:
    """A worker's queue of orders. While the worker waits for one, all that was asked for is ready: it waits for room."""

    def __init__(self, loader, queue):
        self._loader = loader
        self._queue = queue

    def get(self, *arguments, **named):
        loader = self._loader
        level = loader.emitter.open_loader(b"put", loader.batch, loader.number, loader.worker)
        try:
            order = self._queue.get(*arguments, **named)
        finally:
            loader.emitter.close(level)
        if isinstance(order, tuple) and order and isinstance(order[0], int):
            loader.batch = order[0]
        return order

    def __getattr__(self, name):
        return getattr(self._queue, name)
