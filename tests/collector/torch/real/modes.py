# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains on the CPU with a mode switched on around each step, or without: modes.py anomaly|plain."""

import contextlib
import sys

import torch
from torch import nn


def main(mode):
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    for _ in range(20):
        with torch.autograd.detect_anomaly() if mode == "anomaly" else contextlib.nullcontext():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main(sys.argv[1])
