# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Callbacks with the real libraries: integrations_test.py LACUNA NAME, where NAME is a class below"""

import importlib.util
import os
import sys
import unittest

from built import SKIPPED, InFolder

PACKAGES = {"Transformers": ("torch", "transformers", "accelerate"), "Lightning": ("torch", "lightning"),
            "Accelerate": ("torch", "accelerate"), "Torch": ("torch",)}

MODEL = """
import os, sys, torch, lacuna
torch.set_num_threads(1)
torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.randn(24, 8), torch.randn(24, 1))
"""

TRANSFORMERS = MODEL + """
from transformers import Trainer, TrainingArguments
from lacuna.integrations.transformers import LacunaCallback

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.mse_loss(self.layer(x), labels)}

def collate(rows):
    return {"x": torch.stack([row[0] for row in rows]), "labels": torch.stack([row[1] for row in rows])}

arguments = TrainingArguments(output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=2,
                              num_train_epochs=2, eval_strategy="epoch", save_strategy="epoch", logging_steps=4,
                              report_to=[], disable_tqdm=True, use_cpu=True, remove_unused_columns=False)
trainer = Trainer(Net(), arguments, collate, data, data, callbacks=[LacunaCallback()])
trainer.train()
print("steps", trainer.state.global_step)
"""

LIGHTNING = MODEL + """
import lightning
from lacuna.integrations.lightning import LacunaCallback, LacunaProfiler

class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.automatic_optimization = "manual" not in sys.argv

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        if self.automatic_optimization:
            return loss
        for optimizer in self.optimizers():
            optimizer.zero_grad()
            self.manual_backward(self.layer(batch[0]).sum())
            optimizer.step()

    def validation_step(self, batch, index):
        self.layer(batch[0])

    def configure_optimizers(self):
        optimizers = [torch.optim.SGD(self.parameters(), lr=1e-3) for _ in range(2)]
        return optimizers[0] if self.automatic_optimization else optimizers

loader = torch.utils.data.DataLoader(data, batch_size=2)
trainer = lightning.Trainer(accelerator="cpu", devices=1, max_epochs=2, logger=False, enable_progress_bar=False,
                            enable_model_summary=False, num_sanity_val_steps=0, callbacks=[LacunaCallback()],
                            profiler=LacunaProfiler(), default_root_dir="out",
                            accumulate_grad_batches=1 if "manual" in sys.argv else 3)
trainer.fit(Net(), loader, loader)
"""

ACCELERATE = MODEL + """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=3)
net = torch.nn.Linear(8, 1)
net, optimizer, loader = accelerator.prepare(
    net, torch.optim.SGD(net.parameters(), lr=1e-3), torch.utils.data.DataLoader(data, batch_size=2))
for x, y in loader:
    with accelerator.accumulate(net):
        with lacuna.range("loss"):
            loss = torch.nn.functional.mse_loss(net(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    if accelerator.sync_gradients:
        lacuna.step()
"""

PROFILED = MODEL + """
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=1)

def epoch():
    for x, y in loader:
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        lacuna.step()

epoch()
for name in ("first.lcn", "second.lcn"):
    with lacuna.profile(name):
        epoch()
    epoch()
    print(len(torch.nn.modules.module._global_forward_hooks))
"""


def script(program, *arguments):
    return f"import sys; sys.argv[1:] = {list(arguments)!r}\n" + program


class Transformers(InFolder):
    def test_a_step_of_the_trainer_is_a_step(self):
        output, _ = self.recorded(TRANSFORMERS, HF_HUB_OFFLINE="1")
        self.assertIn("steps 12", output)
        self.assertEqual(len(self.steps()), 12)
        found = self.ranges()
        self.assertGreaterEqual(found["checkpoint"], 2)
        outer = self.trace().sql("SELECT count(*) AS n FROM range WHERE name = 'evaluation' AND category = 'phase' AND depth = 0")
        self.assertEqual(outer, [{"n": 2}])
        names = {row["name"] for row in self.trace().report()["phases"]}
        self.assertLessEqual({"evaluation", "checkpoint"}, names)


class Lightning(InFolder):
    def test_an_optimizer_step_ends_a_step_and_actions_are_ranges(self):
        self.recorded(script(LIGHTNING))
        self.assertEqual(len(self.steps()), 8)
        found = self.ranges()
        self.assertEqual(found["run_training_batch"], 24)
        self.assertEqual(found["[LightningModule]Net.optimizer_step"], 8)
        self.assertGreaterEqual(found["checkpoint"], 2)
        self.assertGreaterEqual(found["evaluation"], 2)

    def test_a_batch_is_a_step_where_the_module_steps_two_optimizers_itself(self):
        self.recorded(script(LIGHTNING, "manual"))
        self.assertEqual(len(self.steps()), 24)


class Accelerate(InFolder):
    def test_a_step_has_all_batches_of_an_accumulation(self):
        self.recorded(ACCELERATE)
        self.assertEqual(len(self.steps()), 4)
        self.assertEqual(self.ranges()["loss"], 12)


class Torch(InFolder):
    def test_each_block_has_its_operators_steps_and_workers(self):
        output, _ = self.python(PROFILED)
        self.assertEqual(output, "0\n0\n", "no hook of a module stays after a block")
        for name in ("first.lcn", "second.lcn"):
            self.assertEqual(len(self.steps(name)), 6, name)
            found = self.ranges(name)
            operators = self.trace(name).sql("SELECT count(*) AS n FROM range WHERE name = 'aten::linear' AND category = 'operator'")
            self.assertEqual(operators, [{"n": 12}], name)
            self.assertEqual(found["fetch"], 6, name)
            self.assertEqual(found["backward"], 6, name)
            kernels = self.trace(name).sql("SELECT count(*) AS n FROM kernel WHERE name = 'aten::linear'")
            self.assertEqual(kernels, [{"n": 12}], name)
            (device,) = self.trace(name).sql("SELECT count(*) AS n FROM device")
            self.assertEqual(device["n"], 1, name)


if __name__ == "__main__":
    missing = [name for name in PACKAGES[sys.argv[1]] if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed. Remedy: scripts/setup --python")
        sys.exit(SKIPPED)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    unittest.main(verbosity=2)
