// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"

namespace bench {

/// A network with its optimizer and one batch, which it trains on again and again.
struct Trainer {
  std::shared_ptr<lacuna::rt::nn::Module> net;
  std::shared_ptr<lacuna::rt::optim::Optimizer> optimizer;
  /// Forward, backward, update, and gradients dropped; does not wait for the queue. Returns the
  /// loss.
  std::function<lacuna::rt::Tensor()> step;
};

/// The precision of the forward: f32, or what Autocast makes of it in bf16, and in f16 with a
/// GradScaler.
enum class Precision : std::uint8_t { F32, Amp, F16 };

/// mlp (784-512-512-10, batch 128), resnet18 (3×32×32, batch 64), transformer (4 layers of 256, 128
/// characters, batch 16), all of f32 parameters with SGD; resnet50 (3×224×224, batch 16, SGD),
/// stylegan2 (the discriminator for 256×256, batch 4, Adam).
Trainer makeTrainer(const std::string& name, lacuna::rt::Device device,
                    Precision precision = Precision::F32);

/// Memory on meta while the iterations of a trainer follow a plan.
struct PlannedMemory {
  std::size_t bound = 0;  ///< what a static plan of the trainer's operators needs
  lacuna::rt::MemoryStats memory;
  lacuna::rt::MemoryPlanStats plan;
};
/// Records a step, lets one install the arena, and measures three that follow. Planning is off
/// again afterwards.
PlannedMemory measurePlanned(const std::string& name);

}  // namespace bench
