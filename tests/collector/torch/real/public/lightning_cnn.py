# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small CNN with Lightning."""

import lightning
import torch
from torch import nn
from truth import STEPS, Truth


class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10))

    def training_step(self, batch, _):
        pictures, labels = batch
        return nn.functional.cross_entropy(self.layers(pictures), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Compares(lightning.Callback):
    def __init__(self, truth):
        self.truth = truth

    def on_train_batch_start(self, *_):
        self.truth.step_begins()

    def on_train_batch_end(self, *_):
        self.truth.step_ends()


def main():
    network = Network()
    truth = Truth(network)
    data = torch.utils.data.TensorDataset(torch.rand(4 * STEPS, 1, 28, 28), torch.randint(10, (4 * STEPS,)))
    trainer = lightning.Trainer(accelerator="cpu", devices=1, max_steps=STEPS, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, callbacks=[Compares(truth)])
    trainer.fit(network, torch.utils.data.DataLoader(data, batch_size=4))
    truth.end()


if __name__ == "__main__":
    main()
