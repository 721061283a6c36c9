# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network until it is ended. Prints at its end whether PyTorch is as it was
before the first step."""

import gc
import signal
import sys

import torch

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
torch.set_num_threads(1)
torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(4096, 32), torch.randn(4096, 1))
network = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(network.parameters())
module = torch.nn.modules.module


def places():
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    return (
        torch.autograd.backward,
        torch.save,
        torch.compile,
        iterator.__next__,
        iterator.__init__,
        torch.utils.data.DataLoader.__iter__,
        list(module._global_forward_hooks),
        list(module._global_forward_pre_hooks),
        list(module._global_module_registration_hooks),
        list(gc.callbacks),
    )


before = places()
try:
    while True:
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=16):
            loss = torch.nn.functional.mse_loss(network(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
finally:
    print("as before" if places() == before else f"changed: {before} {places()}", flush=True)
