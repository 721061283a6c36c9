# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small random GPT-2 with Hugging Face's Trainer."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
from truth import STEPS, Truth


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, i):
        tokens = torch.randint(100, (32,))
        return {"input_ids": tokens, "labels": tokens}


class Compares(TrainerCallback):
    def __init__(self, truth):
        self.truth = truth

    def on_step_begin(self, *_, **__):
        self.truth.step_begins()

    def on_step_end(self, *_, **__):
        self.truth.step_ends()


def main():
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=100, n_positions=32))
    truth = Truth(model)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(output_dir=folder, max_steps=STEPS, per_device_train_batch_size=4, use_cpu=True,
                                     report_to="none", save_strategy="no", disable_tqdm=True)
        Trainer(model=model, args=settings, train_dataset=Texts(), callbacks=[Compares(truth)]).train()
    truth.end()


if __name__ == "__main__":
    main()
