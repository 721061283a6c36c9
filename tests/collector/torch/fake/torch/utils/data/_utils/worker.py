# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
from . import fetch


def _worker_loop(dataset, index_queue, data_queue, collate_fn, worker_id):
    fetcher = fetch._MapDatasetFetcher(dataset, collate_fn)
    while True:
        order = index_queue.get(timeout=60)
        if order is None:
            return
        number, indices = order
        data_queue.put((number, fetcher.fetch(indices)))
