# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Calls modules of the stand-in for PyTorch: modules.py CASE"""

import inspect
import sys
import threading

import torch
from torch.nn import Sequential
from torch.nn.modules.batchnorm import _BatchNorm as Norm
from torch.nn.modules.linear import Linear


class Sum(torch.nn.Module):
    def forward(self, first, *more, start=0):
        return start + first + sum(more)


class Fails(torch.nn.Module):
    def forward(self, value):
        raise KeyError(value)


class Catches(torch.nn.Module):
    def __init__(self):
        self.inner, self.next = Fails(), Sum()

    def forward(self, value):
        try:
            self.inner(value)
        except KeyError as error:
            return self.next(error.args[0])


class Unreadable(torch.nn.Module):
    @property
    def training(self):
        raise RuntimeError("nobody may read this")

    def forward(self, value):
        return value


def wraps_call():
    """As a library does that looks at all calls, around a recording that is switched off and on again."""
    ours = torch.nn.Module.__call__
    torch.nn.Module.__call__ = lambda module, *arguments: ours(module, *arguments)
    watcher = sys.modules["lacuna_torch"]
    watcher.pause()
    print(Sum()(1))
    watcher.resume()
    print(Catches()(2))


def hands_all_on():
    print(Sum()(1), Sum()(1, 2, start=3), Sum().forward(4))
    print(inspect.signature(torch.nn.Module.__call__))
    try:
        Sum()()
    except TypeError as error:
        print(error)


def fails():
    print(Catches()(7))
    try:
        Fails()(8)
    except KeyError as error:
        print("failed with", error)
    Sum()(1)


def reuses_addresses():
    for _ in range(50):
        for kind in (type("First", (Sum,), {}), type("Second", (Sum,), {})):
            kind()(1)


def calls_in_threads():
    start = threading.Barrier(4)

    def call():
        model = Sequential(Linear(), Sequential(Linear()))
        start.wait()
        for _ in range(200):
            model(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


CASES = {
    "hands-all-on": hands_all_on,
    "fails": fails,
    "wraps-call": wraps_call,
    "reuses-addresses": reuses_addresses,
    "threads": calls_in_threads,
    "unreadable": lambda: print(Unreadable()(5)),
    "bias": lambda: Sequential(Linear(), Norm(), Linear(), Norm())(1),
    "bias-in-container": lambda: Sequential(Sequential(Linear()), Norm())(1),
    "no-bias": lambda: Sequential(Linear(bias=False), Norm(), Linear(), Linear(bias=False), Norm())(1),
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
