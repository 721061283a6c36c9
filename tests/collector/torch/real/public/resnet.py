# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains torchvision's ResNet-18 on small pictures."""

import torch
import torchvision
from truth import STEPS, Truth


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, i):
        return torchvision.transforms.functional.hflip(torch.rand(3, 64, 64)), i % 10


def main():
    model = torchvision.models.resnet18(num_classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    truth = Truth(model)
    for pictures, labels in torch.utils.data.DataLoader(Pictures(), batch_size=4, num_workers=1):
        truth.step_begins()
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.step_ends()
    truth.end()


if __name__ == "__main__":
    main()
