#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains the network that a seed draws, with PyTorch on the CPU, as an ordinary script would: nothing in it knows that it
is recorded.

usage: torch_training.py --seed N [--without FAULT[,…]|all] [--seconds S] [--print]
       torch_training.py --compare

Trains for at least S seconds and 40 iterations. --without repairs faults of the plan; --print prints the plan instead of
training. --compare reads lines of a seed and faults to repair, trains with and without them in turns, and answers with the
time and the iterations of each turn as JSON."""

import argparse
import contextlib
import copy
import gc
import hashlib
import json
import math
import os
import socket
import sys
import tempfile
import threading
import time
import zlib

import draw

LEAST_ITERATIONS = 40
MOST_ITERATIONS = 3000
KEPT_MOST_BYTES = 2 << 30


def compute(milliseconds):
    """Work of the interpreter, as a metric written in Python is."""
    until = time.thread_time_ns() + int(milliseconds * 1e6)
    counts = {}
    while time.thread_time_ns() < until:
        for value in range(200):
            counts[value % 17] = counts.get(value % 17, 0) + value * value


def repeat(milliseconds, work):
    """Does a piece of work again and again for about so long."""
    until = time.thread_time_ns() + int(milliseconds * 1e6)
    while time.thread_time_ns() < until:
        work()


class Server(threading.Thread):
    """Answers each message after a while, as a server for metrics does."""

    def __init__(self, milliseconds):
        super().__init__(daemon=True)
        self.ours, self.its = socket.socketpair()
        self.seconds = milliseconds / 1e3
        self.start()

    def run(self):
        while self.its.recv(64):
            time.sleep(self.seconds)
            self.its.send(b"kept")

    def ask(self, message):
        self.ours.send(message)
        self.ours.recv(64)


class Samples:
    def __init__(self, plan, samples):
        self.inputs, self.targets = samples(plan["samples"])
        batch = plan["network"]["batch"]
        faults, costs = plan["faults"], plan["costs"]
        asleep = costs["storage_ms"] if "slow-storage" in faults else costs["storage_ms"] / 3 if "no-workers" in faults else 0
        self.sleep_s = asleep / 1e3 / batch
        self.decode_ms = (costs["decode_ms"] if "heavy-decode" in faults else 0.5) / batch

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        if self.sleep_s > 0:
            time.sleep(self.sleep_s)
        compute(self.decode_ms)
        return self.inputs[index], self.targets[index]


class SlowCollate:
    def __init__(self, milliseconds):
        self.milliseconds = milliseconds

    def __call__(self, samples):
        from torch.utils.data import default_collate

        compute(self.milliseconds)
        return default_collate(samples)


class Training:
    def __init__(self, plan, folder):
        import torch

        self.torch = torch
        self.plan, self.faults, self.costs = plan, set(plan["faults"]), plan["costs"]
        self.folder = folder
        torch.manual_seed(plan["seed"])
        if "too-many-threads" in self.faults:
            torch.set_num_threads(self.costs["threads"])
        if "anomaly-detection" in self.faults:
            torch.autograd.set_detect_anomaly(True, check_nan=True)
        self.build()
        self.batches = self.loader()
        self.kept = []
        self.lock = threading.Lock()
        self.log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
        self.settings = json.dumps({f"layer{i}": {"width": i, "names": ["a", "b"] * 20} for i in range(200)})
        self.server = Server(self.costs["server_ms"]) if "waits-for-a-server" in self.faults else None
        self.average = [parameter.detach().clone() for parameter in self.model.parameters()]
        self.objects = [(i, str(i)) for i in range(200_000)] if "garbage-collection" in self.faults else []

    def build(self):
        import networks

        torch, plan = self.torch, self.plan
        if plan["family"] == "gan":
            size = plan["network"]
            self.generator = networks.gan_part(plan, size["noise"], size["inputs"])
            self.model = networks.gan_part(plan, size["inputs"], 1)
            self.samples = lambda n: (torch.randn(n, size["inputs"]), torch.zeros(n))
            self.second = self.optimizer_of(self.generator)
        else:
            self.model, self.samples, self.loss = networks.BUILDERS[plan["family"]](plan)
        self.optimizer = self.optimizer_of(self.model)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 100, 0.9) if plan["schedules"] else None

    def optimizer_of(self, model):
        kind = getattr(self.torch.optim, self.plan["optimizer"])
        named = {"foreach": False} if "looped-optimizer" in self.faults else {"fused": True}
        return kind(model.parameters(), lr=1e-3, **named)

    def loader(self):
        plan, faults = self.plan, self.faults
        dataset = Samples(plan, self.samples)
        batch = plan["network"]["batch"]
        if plan["loader"] == "none":
            return None
        if plan["loader"] == "own":
            plan = {**plan, "workers": 1}
        workers = 0 if "no-workers" in faults else plan["workers"]
        named = {"prefetch_factor": plan["prefetch"], "persistent_workers": "workers-restarted" not in faults} if workers else {}
        if "slow-collate" in faults:
            named["collate_fn"] = SlowCollate(self.costs["collate_ms"])
        return self.torch.utils.data.DataLoader(dataset, batch, shuffle=True, drop_last=True, num_workers=workers, **named)

    def epoch(self):
        if self.batches is not None:
            yield from self.batches
            return
        inputs, targets = self.samples(self.plan["samples"])
        batch = self.plan["network"]["batch"]
        for first in range(0, len(inputs) - batch + 1, batch):
            yield inputs[first:first + batch], targets[first:first + batch]

    def forward(self, inputs):
        if "sample-by-sample" in self.faults:
            outputs = self.torch.cat([self.model(inputs[i:i + 2]) for i in range(0, len(inputs) - 1, 2)])
        else:
            outputs = self.model(inputs)
        if "double-forward" in self.faults:
            self.logged = self.model(inputs).abs().mean().item()
        return outputs

    def clear(self, optimizer):
        optimizer.zero_grad(set_to_none="gradients-zeroed" not in self.faults)

    def learn(self, inputs, targets, number):
        accumulates = self.plan["accumulates"]
        if number % accumulates == 0:
            self.clear(self.optimizer)
        outputs = self.forward(inputs)
        loss = self.loss(outputs, targets[:len(outputs)])
        (loss / accumulates).backward()
        if (number + 1) % accumulates == 0:
            if self.plan["clips"]:
                self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            if self.schedule is not None:
                self.schedule.step()
        return loss

    def play(self, real):
        """A step of each side of a game of two networks."""
        judged = self.torch.nn.functional.binary_cross_entropy_with_logits
        noise = self.torch.randn(len(real), self.plan["network"]["noise"])
        ones, zeros = self.torch.ones(len(real), 1), self.torch.zeros(len(real), 1)
        self.clear(self.optimizer)
        made = self.generator(noise)
        loss = judged(self.forward(real), ones[:len(real)]) + judged(self.model(made.detach()), zeros)
        loss.backward()
        self.optimizer.step()
        self.clear(self.second)
        judged(self.model(made), ones).backward()
        self.second.step()
        return loss

    def save(self):
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        with open(os.path.join(self.folder, "checkpoint"), "wb") as file:
            self.torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    def hold_lock(self, held):
        with self.lock:
            held.set()
            time.sleep(self.costs["lock_ms"] / 1e3)

    def wait_for_lock(self):
        held = threading.Event()
        threading.Thread(target=self.hold_lock, args=(held,)).start()
        held.wait()
        with self.lock:
            pass

    def after(self, inputs, loss, number):
        """The script's work behind a step, besides its training."""
        faults, costs = self.faults, self.costs
        if number % self.plan["logs_every"] == 0:
            print(f"{number} loss {loss.item():.4f}", file=self.log)
        if "metrics-in-python" in faults:
            compute(costs["metric_ms"])
        if "metrics-in-numpy" in faults:
            self.measure(costs["numpy_ms"])
        if "parses-settings" in faults:
            repeat(costs["parse_ms"], lambda: json.loads(self.settings))
        if "compresses-log" in faults:
            text = self.settings.encode()
            repeat(costs["compress_ms"], lambda: zlib.compress(text, 6))
        if "hashes-a-file" in faults:
            repeat(costs["hash_ms"], self.hash_file)
        if self.server is not None:
            self.server.ask(b"step")
        if "sleeps" in faults:
            time.sleep(costs["sleep_ms"] / 1e3)
        if "averages-by-loop" in faults:
            self.update_average()
        if "copies-weights" in faults:
            self.best = copy.deepcopy(self.model.state_dict())
        if "garbage-collection" in faults:
            gc.collect()
        if "checkpoint-each-step" in faults or ("checkpoint-now-and-then" in faults and number % costs["save_every"] == 0):
            self.save()
        if "flushed-log" in faults:
            for line in range(costs["log_lines"]):
                self.log.write(f"{number}.{line} {loss.item()}\n")
                self.log.flush()
                os.fsync(self.log.fileno())
        if "waits-for-a-lock" in faults:
            self.wait_for_lock()
        if "keeps-graphs" in faults and sum(tensor.nbytes for tensor, _ in self.kept[-1:]) * len(self.kept) < KEPT_MOST_BYTES:
            self.kept.append((inputs.clone(), loss))
        if "large-temporary" in faults:
            self.torch.full((costs["temporary_mib"] << 18,), 0.5).sum()

    def measure(self, milliseconds):
        import numpy

        scores = numpy.random.default_rng(0).random(20_000)
        repeat(milliseconds, lambda: numpy.percentile(numpy.sort(scores), (5, 50, 95)))

    def hash_file(self):
        with open(__file__, "rb") as file:
            hashlib.sha256(file.read() * 20).hexdigest()

    def update_average(self):
        """As written in many scripts: an operator for each parameter."""
        with self.torch.no_grad():
            for mean, parameter in zip(self.average, self.model.parameters()):
                mean.mul_(0.999)
                mean.add_(parameter * 0.001)

    def evaluate(self):
        gradients = "evaluates-with-gradients" in self.faults
        self.model.eval()
        with contextlib.nullcontext() if gradients else self.torch.no_grad():
            for at, (inputs, targets) in enumerate(self.epoch()):
                outputs = self.model(inputs)
                if self.plan["family"] != "gan":
                    self.loss(outputs, targets)
                if at == 3:
                    break
        self.model.train()

    def run(self, over):
        """Until `over`, which is called with the number of iterations."""
        number = 0
        while True:
            for inputs, targets in self.epoch():
                loss = self.play(inputs) if self.plan["family"] == "gan" else self.learn(inputs, targets, number)
                self.after(inputs, loss, number)
                number += 1
                if over(number):
                    return
            if self.plan["evaluates"]:
                self.evaluate()


def train(plan, seconds):
    until = time.monotonic() + seconds

    def over(iterations):
        return iterations >= MOST_ITERATIONS or (iterations >= LEAST_ITERATIONS and time.monotonic() >= until)

    with tempfile.TemporaryDirectory() as folder:
        Training(plan, folder).run(over)


def planned(seed, without):
    return draw.without(draw.draw(seed), [name for name in without.split(",") if name])


def compare():
    # The first optimizer imports the compiler. PyTorch starts no thread before it computes, so it can be forked.
    import pairs
    import torch._dynamo  # noqa: F401

    def side(plan):
        return lambda folder, turns: Training(plan, folder).run(turns.over)

    for line in sys.stdin:
        seed, without = line.split()
        print(json.dumps(pairs.compare(side(planned(int(seed), "")), side(planned(int(seed), without)))), flush=True)


def train_in_turns(plan, descriptors, epochs):
    import pairs

    wake, answer = map(int, descriptors.split(","))
    with tempfile.TemporaryDirectory() as folder:
        warm_up = pairs.WARM_UP_ITERATIONS + epochs * math.ceil(plan["samples"] / plan["network"]["batch"])
        Training(plan, folder).run(pairs.Turns(answer, wake, warm_up).over)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--without", default="")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--turns", default="", help="train in turns with another program, by these two descriptors")
    parser.add_argument("--warm-up-epochs", type=int, default=0, help="with --turns: epochs before those that count")
    options = parser.parse_args()
    if options.compare:
        compare()
    elif options.print:
        print(json.dumps(planned(options.seed, options.without)))
    elif options.turns:
        train_in_turns(planned(options.seed, options.without), options.turns, options.warm_up_epochs)
    else:
        train(planned(options.seed, options.without), options.seconds)


if __name__ == "__main__":
    main()
