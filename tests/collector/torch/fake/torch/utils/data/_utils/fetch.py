# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
class _BaseDatasetFetcher:
    def __init__(self, dataset, collate_fn):
        self.dataset = dataset
        self.collate_fn = collate_fn


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, indices):
        return self.collate_fn([self.dataset[i] for i in indices])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, indices):
        return self.collate_fn([next(self.dataset) for _ in indices])
