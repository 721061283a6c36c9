# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A step of training inside the range "compared". Prints as JSON the shapes of the tensors that torch.profiler saw there:
[[operator, [shape, …], times], …]. Left out are scalars, which the profiler writes as it writes numbers, and lists of
tensors, whose shapes it does not give."""

import collections
import json

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.deep = nn.Conv3d(1, 2, 3)
        self.recurrent = nn.LSTM(8, 16, batch_first=True)
        self.out = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.convolution(x)))
        x = x + self.deep(x.reshape(-1, 1, 8, 8, 8)).mean()
        x, _ = self.recurrent(x.flatten(2).transpose(1, 2))
        q = x[:, :4].unsqueeze(1)
        x = torch.cat([x, nn.functional.scaled_dot_product_attention(q, q, q).squeeze(1)], dim=1)
        return self.out(x.mean(1))


def main():
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
    inputs, targets = torch.randn(4, 3, 16, 16), torch.randint(10, (4,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), targets).backward()
        optimizer.step()

    step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        with record_function("compared"):
            step()
    step()
    seen = collections.Counter()
    for event in profiler.profiler.kineto_results.events():
        if event.name().startswith("aten::"):
            seen[event.name(), json.dumps([shape for shape in event.shapes() if shape])] += 1
    print("SHAPES " + json.dumps([[name, json.loads(shapes), times] for (name, shapes), times in seen.items()]))


if __name__ == "__main__":
    main()
