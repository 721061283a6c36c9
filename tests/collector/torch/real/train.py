# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A small training run on the CPU: train.py WORKERS START_METHOD. Two epochs of 20 steps."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.randn(64, generator=torch.Generator().manual_seed(i)), i % 10


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 256)
        self.out = nn.Linear(256, 10)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def main(workers, method):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loader = DataLoader(Slow(), batch_size=32, num_workers=workers, multiprocessing_context=method if workers else None)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
