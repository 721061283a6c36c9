# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains with DistributedDataParallel on gloo; for torchrun."""

import os

import torch
from torch import nn
from truth import STEPS, Truth


def main():
    torch.distributed.init_process_group("gloo")
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    parallel = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(parallel.parameters())
    truth = Truth(parallel)
    for _ in range(STEPS):
        truth.step_begins()
        nn.functional.cross_entropy(parallel(torch.rand(8, 64)), torch.randint(10, (8,))).backward()
        optimizer.step()
        optimizer.zero_grad()
        truth.step_ends()
    if torch.distributed.get_rank() == 0:
        truth.print()
    torch.distributed.destroy_process_group()
    os._exit(0)  # threads of PyTorch may abort the process while Python finalises, on cores that others use, too


if __name__ == "__main__":
    main()
