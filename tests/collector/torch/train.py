# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains nothing with the stand-in for PyTorch: train.py WORKERS START_METHOD [MODE]; the modes are at the end of main."""

import gc
import os
import sys
import tempfile
import threading
import time

import torch
from torch.utils.data import DataLoader


class Squares:
    def __getitem__(self, i):
        return i * i


class Layer(torch.nn.Module):
    def forward(self, x):
        with torch.operator("aten::linear", sequence=torch._sequence):
            with torch.operator("aten::addmm"), torch.operator("aten::empty"):
                torch.allocate(0x1000, 4096)
        return torch.Tensor()


class Net(torch.nn.Module):
    def __init__(self):
        self.first = Layer()

    def forward(self, x):
        return self.first(x)


def train(workers, method):
    net, optimizer = Net(), torch.optim.Optimizer()
    seen = []
    for batch in DataLoader(Squares(), batches=3, num_workers=workers, context=method):
        seen += batch
        net(batch).neg().backward()
        torch.allocate(0x1000, -4096)
        optimizer.step()
    return net, seen


def reduce_in_a_thread():
    """As the reducer and gloo: begun by one thread, executed by another."""
    with torch.operator("c10d::allreduce_"):
        pass

    def execute():
        with torch.operator("gloo:all_reduce", torch.USER):
            pass

    thread = threading.Thread(target=execute)
    thread.start()
    thread.join()


def overtake():
    """As two groups of gloo: what was begun first waits for a thread of its group while the other's is executed."""
    executions = ["gloo:broadcast", "gloo:all_gather", "gloo:all_reduce", "gloo:all_reduce"]
    for begun in ["c10d::allreduce_", "c10d::broadcast_", "c10d::_reduce_scatter_base_", "c10d::_allgather_base_"]:
        with torch.operator(begun):
            pass

    def execute():
        for name in executions:
            with torch.operator(name, torch.USER):
                pass

    thread = threading.Thread(target=execute)
    thread.start()
    thread.join()


def tidy_up(net):
    with tempfile.TemporaryFile() as file:
        os.fsync(file.fileno())
        torch.save(net, file)
        os.fsync(file.fileno())
        net(None)
        os.fsync(file.fileno())
    for _ in range(50):
        gc.collect(0)
    gc.collect()


def evaluate_with_gradients(net):
    net.eval()
    net(None)
    net.train()


def train_long():
    net, optimizer = Net(), torch.optim.Optimizer()
    for batch in DataLoader(Squares(), batches=440, num_workers=0, context="fork"):
        net(batch).neg().backward()
        torch.allocate(0x1000, -4096)
        optimizer.step()


def metric(milliseconds):
    end = time.monotonic() + milliseconds / 1e3
    while time.monotonic() < end:
        sum(range(50))  # the metric's line


def train_with_metric():
    net, optimizer = Net(), torch.optim.Optimizer()
    for batch in DataLoader(Squares(), batches=60, num_workers=0, context="fork"):
        net(batch).neg().backward()
        optimizer.step()
        metric(15)


def main(workers, method, validates, folds, detects, reduces, overtakes, evaluates, tidies):
    if validates:
        with torch.no_grad():
            for batch in DataLoader(Squares(), batches=2, num_workers=0, context=method):
                Net()(batch)
    for _ in range(folds):
        net, seen = train(workers, method)
    if detects:
        with torch.autograd.detect_anomaly():
            train(workers, method)
    for _ in range(2 if reduces else 0):
        reduce_in_a_thread()
    if overtakes:
        overtake()
    if tidies:
        tidy_up(net)
    if evaluates:
        evaluate_with_gradients(net)
        train(workers, method)
        evaluate_with_gradients(net)
    with torch.no_grad():
        net(None)
    print("saw", sorted(seen))


if __name__ == "__main__" and sys.argv[3:] == ["metric"]:
    train_with_metric()
elif __name__ == "__main__" and sys.argv[3:] == ["long"]:
    train_long()
elif __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["validate"], 2 if sys.argv[3:] == ["folds"] else 1,
         sys.argv[3:] == ["anomaly"], sys.argv[3:] == ["collectives"], sys.argv[3:] == ["groups"],
         sys.argv[3:] == ["evaluate"], sys.argv[3:] == ["tidy"])
