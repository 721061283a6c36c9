# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The networks of drawn programs: for each family a model, the samples it learns from, and its loss."""

import torch
from torch import nn
from torch.nn import functional


class DoubleRoundTrip(nn.Module):
    def forward(self, x):
        return x.double().float()


class Blocks(nn.Sequential):
    """Layers, each with a norm and a round trip through double precision if the plan has that fault."""

    def add(self, plan, layer, *behind):
        self.append(layer)
        for module in behind:
            self.append(module)
        if "double-precision-round-trip" in plan["faults"]:
            self.append(DoubleRoundTrip())


def biased(plan):
    return "bias-before-norm" in plan["faults"]


def mlp(plan):
    size = plan["network"]
    model = Blocks()
    wide = size["inputs"]
    for _ in range(size["depth"]):
        model.add(plan, nn.Linear(wide, size["width"], bias=biased(plan)), nn.BatchNorm1d(size["width"]), nn.ReLU())
        wide = size["width"]
    model.append(nn.Linear(wide, 10))
    return model, lambda n: (torch.randn(n, size["inputs"]), torch.randint(10, (n,))), functional.cross_entropy


def cnn(plan):
    size = plan["network"]
    model = Blocks()
    channels = 3
    for level in range(size["depth"]):
        wide = size["channels"] * (1 + level // 2)
        model.add(plan, nn.Conv2d(channels, wide, 3, padding=1, bias=biased(plan)), nn.BatchNorm2d(wide), nn.ReLU())
        if level % 2 == 1:
            model.append(nn.MaxPool2d(2))
        channels = wide
    model.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)])
    return model, lambda n: (torch.randn(n, 3, size["side"], size["side"]), torch.randint(10, (n,))), functional.cross_entropy


class Transformer(nn.Module):
    def __init__(self, plan):
        super().__init__()
        size = plan["network"]
        self.embedding = nn.Embedding(size["vocabulary"], size["width"])
        self.position = nn.Parameter(torch.zeros(1, size["length"], size["width"]))
        layer = nn.TransformerEncoderLayer(size["width"], size["heads"], 4 * size["width"], dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, size["depth"], enable_nested_tensor=False)
        self.round_trip = DoubleRoundTrip() if "double-precision-round-trip" in plan["faults"] else nn.Identity()
        self.head = nn.Linear(size["width"], size["vocabulary"])

    def forward(self, tokens):
        return self.head(self.round_trip(self.layers(self.embedding(tokens) + self.position)))


def transformer(plan):
    size = plan["network"]

    def samples(n):
        tokens = torch.randint(size["vocabulary"], (n, size["length"] + 1))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    return Transformer(plan), samples, lambda y, t: functional.cross_entropy(y.flatten(0, 1), t.flatten())


class Recurrent(nn.Module):
    def __init__(self, plan):
        super().__init__()
        size = plan["network"]
        self.layers = nn.LSTM(size["inputs"], size["width"], size["depth"], batch_first=True)
        self.round_trip = DoubleRoundTrip() if "double-precision-round-trip" in plan["faults"] else nn.Identity()
        self.head = nn.Linear(size["width"], 5)

    def forward(self, x):
        return self.head(self.round_trip(self.layers(x)[0])[:, -1])


def rnn(plan):
    size = plan["network"]
    samples = lambda n: (torch.randn(n, size["length"], size["inputs"]), torch.randint(5, (n,)))
    return Recurrent(plan), samples, functional.cross_entropy


class Recommender(nn.Module):
    def __init__(self, plan):
        super().__init__()
        size = plan["network"]
        self.tables = nn.ModuleList(nn.Embedding(size["rows"], size["width"]) for _ in range(size["tables"]))
        self.top = Blocks()
        wide = size["tables"] * size["width"]
        for _ in range(size["depth"]):
            self.top.add(plan, nn.Linear(wide, size["hidden"]), nn.ReLU())
            wide = size["hidden"]
        self.top.append(nn.Linear(wide, 1))

    def forward(self, ids):
        return self.top(torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], 1)).squeeze(1)


def recommender(plan):
    size = plan["network"]
    samples = lambda n: (torch.randint(size["rows"], (n, size["tables"])), torch.randint(2, (n,)).float())
    return Recommender(plan), samples, functional.binary_cross_entropy_with_logits


def autoencoder(plan):
    size = plan["network"]
    model = Blocks()
    channels = 3
    for level in range(size["depth"]):
        wide = size["channels"] << level
        model.add(plan, nn.Conv2d(channels, wide, 3, 2, 1, bias=biased(plan)), nn.BatchNorm2d(wide), nn.LeakyReLU(0.1))
        channels = wide
    for level in reversed(range(size["depth"])):
        wide = size["channels"] << level >> 1 if level else 3
        model.add(plan, nn.ConvTranspose2d(channels, wide, 4, 2, 1))
        channels = wide

    def samples(n):
        images = torch.rand(n, 3, size["side"], size["side"])
        return images, images

    return model, samples, functional.mse_loss


def gan_part(plan, inputs, outputs):
    size = plan["network"]
    part = Blocks()
    for _ in range(size["depth"]):
        part.add(plan, nn.Linear(inputs, size["width"]), nn.LeakyReLU(0.2))
        inputs = size["width"]
    part.append(nn.Linear(inputs, outputs))
    return part


BUILDERS = {"mlp": mlp, "cnn": cnn, "transformer": transformer, "rnn": rnn, "recommender": recommender,
            "autoencoder": autoencoder}
