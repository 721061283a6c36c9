# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A training with all that `lacuna run --set` may change: settings.py [CASE]. It ends with its last loss."""

import copy
import io
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

SAMPLES, BATCH, EPOCHS = 64, 8, 2


class Pictures(Dataset):
    def __init__(self, dtype):
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(SAMPLES, 3, 12, 12, generator=generator, dtype=dtype)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        return self.x[i], i % 4


class Stream(IterableDataset):
    def __init__(self, dtype):
        self.data = Pictures(dtype)

    def __iter__(self):
        return (self.data[i] for i in range(SAMPLES))


class Divided(Stream):
    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return (self.data[i] for i in range(first, SAMPLES, step))


class Words(Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        return torch.tensor([i, i // 2]), i % 4


class Net(nn.Module):
    def __init__(self, sparse=False, viewed=False):
        super().__init__()
        self.viewed = viewed
        self.embedding = nn.Embedding(SAMPLES, 8, sparse=True) if sparse else None
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, x):
        if self.viewed:
            return self.head(torch.relu(self.conv(x)).view(len(x), -1)[:, :8])
        if self.embedding is not None:
            return self.head(self.embedding(x).mean(1))
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def optimizer_of(case, parameters):
    kind = {"adagrad": "Adagrad", "rmsprop": "RMSprop", "lbfgs": "LBFGS", "adamw": "AdamW"}.get(case, "SGD")
    return getattr(torch.optim, kind)(parameters, lr=0.01)


def train(case, loader, net, optimizer, judge):
    loss_of = nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=False)
            if case == "lbfgs":
                def closure():
                    optimizer.zero_grad()
                    loss = loss_of(net(x), y)
                    loss.backward()
                    return loss
                loss = optimizer.step(closure)
                continue
            loss = loss_of(net(x), y)
            loss.backward()
            optimizer.step()
            if judge is not None:
                judge[1].zero_grad(set_to_none=False)
                judge[0](x).square().mean().backward()
                judge[1].step()
        if case == "saved":
            torch.save(net, io.BytesIO())
            with torch.no_grad():
                copy.deepcopy(net).eval()(x)
    return loss


def main(case):
    torch.manual_seed(0)
    torch.autograd.set_detect_anomaly(True)
    torch.set_num_threads(3)
    dtype = torch.float64 if case == "double" else torch.float32
    data = Words() if case == "sparse" else {"stream": Stream, "divided": Divided}.get(case, Pictures)(dtype)
    loader = DataLoader(data, batch_size=BATCH)
    net = Net(case == "sparse", case == "viewed").to(dtype)
    judge = Net() if case == "two" else None
    loss = train(case, loader, net, optimizer_of(case, net.parameters()),
                 (judge, torch.optim.Adam(judge.parameters())) if judge is not None else None)
    print(f"loss {loss.item():.6f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "plain")
