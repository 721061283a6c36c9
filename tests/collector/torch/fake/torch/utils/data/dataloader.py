# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import multiprocessing

from . import _utils


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._loader = loader
        self._num_yielded = 0

    def __len__(self):
        return self._loader.batches

    def __iter__(self):
        return self

    def __next__(self):
        if self._num_yielded == len(self):
            self._stop()
            raise StopIteration
        batch = self._next_data()
        self._num_yielded += 1
        return batch

    def _stop(self):
        pass


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        self._fetcher = _utils.fetch._MapDatasetFetcher(loader.dataset, loader.collate_fn)

    def _next_data(self):
        return self._fetcher.fetch([self._num_yielded])


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        context = multiprocessing.get_context(loader.context)
        self._data_queue = context.Queue()
        self._task_info = {}
        self._index_queues = [context.Queue() for _ in range(loader.num_workers)]
        self._workers = []
        for worker, orders in enumerate(self._index_queues):
            process = context.Process(
                target=_utils.worker._worker_loop,
                args=(loader.dataset, orders, self._data_queue, loader.collate_fn, worker),
                daemon=True,
            )
            process.start()
            self._workers.append(process)
        for number in range(loader.batches):
            self._index_queues[number % loader.num_workers].put((number, [number]))

    def _next_data(self):
        return self._data_queue.get(timeout=60)[1]

    def _stop(self):
        for orders in self._index_queues:
            orders.put(None)
        for worker in self._workers:
            worker.join()


class IterableDataset:
    pass


class DataLoader:
    batch_size, prefetch_factor, pin_memory = 1, 2, False
    persistent_workers, timeout, multiprocessing_context, worker_init_fn = False, 0, None, None

    def __setattr__(self, name, value):
        if name == "persistent_workers":
            raise ValueError("persistent_workers attribute should not be set after DataLoader is initialized")
        super().__setattr__(name, value)

    def __init__(self, dataset, batches, num_workers=0, context="fork", collate_fn=list):
        self.dataset = dataset
        self.batches = batches
        self.num_workers = num_workers
        self.context = context
        self.collate_fn = collate_fn

    def __iter__(self):
        return _MultiProcessingDataLoaderIter(self) if self.num_workers else _SingleProcessDataLoaderIter(self)
