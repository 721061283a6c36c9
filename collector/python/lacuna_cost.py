# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Measures in the program itself how much watching an event costs besides handing it over. It times the same work
without the watchers and with them. Meanwhile the emitter rehearses, so none of it is recorded."""

import time

ROUNDS = 15
EVENTS = 10  # in a round
BETWEEN = 64 << 10  # bytes of other work in front of each event, which then finds the caches as in a program that computes


class Work:
    """Three pieces of work: an operator, one that also allocates and frees memory, and modules that do nothing."""

    def __init__(self, torch):
        self.torch = torch
        self.source, self.target = torch.ones(1), torch.ones(1)
        self.modules = torch.nn.Sequential(*[torch.nn.Identity() for _ in range(EVENTS)]).eval()
        self.other, self.more = bytearray(BETWEEN), bytes(BETWEEN)

    def operator(self):
        self.torch.neg(self.source, out=self.target)

    def allocating_operator(self):
        self.source.neg()

    def modules_call(self):
        self.modules(self.source)

    def quickest_ns(self, work):
        """Takes the quickest round: a disturbance only makes a round longer, and the differences are small."""
        sums = []
        for _ in range(ROUNDS):
            spent = 0
            for _ in range(EVENTS):
                self.other[:] = self.more
                began = time.perf_counter_ns()
                work()
                spent += time.perf_counter_ns() - began
            sums.append(spent / EVENTS)
        return min(sums)

    def times(self):
        with self.torch.no_grad():
            for work in (self.operator, self.allocating_operator, self.modules_call):
                work()  # the first call of an operator looks it up
            return tuple(self.quickest_ns(work) for work in (self.operator, self.allocating_operator, self.modules_call))


class OwnCost:
    """Surrounds the installation of the watchers, and records its result as knobs. A version of PyTorch that cannot run
    this work has none."""

    def __init__(self, torch, emitter):
        self.torch, self.emitter = torch, emitter

    def __enter__(self):
        try:
            self.work = Work(self.torch)
            self.unwatched = self.work.times()
        except Exception:
            self.work = None
        return self

    def __exit__(self, kind, error, trace):
        if self.work is None or kind is not None:
            return
        self.emitter.rehearse(1)
        try:
            watched = self.work.times()
        finally:
            self.emitter.rehearse(0)
        operator, allocating, modules = (after - before for after, before in zip(watched, self.unwatched))
        # The container is a module, too.
        costs = {b"operator": operator, b"memory": (allocating - operator) / 2, b"module": modules / (EVENTS + 1)}
        for name, ns in costs.items():
            if ns > 0:
                self.emitter.knob(b"self.cost." + name, b"%d" % round(ns))
