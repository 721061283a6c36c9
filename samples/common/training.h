// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/flags.h"
#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/data.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"

/// The parts that the larger samples share: their flags and the loop around a step.
namespace lacuna::samples {

/// The knobs loader.workers, loader.prefetch, loader.processes, loader.pin and loader.dtype.
Flags& addLoaderFlags(Flags& flags, const char* workers);
/// The knobs of what follows a forward, `zero_grad`, `optimizer.fused` and `debug`, and `backend`.
Flags& addUpdateFlags(Flags& flags);
/// `static_graph`, of programs whose steps Training runs.
Flags& addStaticGraphFlag(Flags& flags);
/// `amp`, see MixedPrecision.
Flags& addPrecisionFlag(Flags& flags);
/// `checkpoint` and `amp`, of networks that can be computed so.
Flags& addNetworkFlags(Flags& flags);
/// steps, batch, rate, seed, device, log and the knobs of loader, gradients and optimizer.
Flags& addTrainingFlags(Flags& flags, const char* steps, const char* batch, const char* rate);
rt::LoaderOptions loaderOptions(const Flags& flags);
/// The type that the flag loader.dtype names.
rt::DType loaderDtype(const Flags& flags);

/// Runs `step` on batch after batch, each in the ranges of a training step, and prints a line of
/// progress every `log` steps. `step` returns the loss after its backward. It may be replayed
/// (`static_graph`): `key` tells apart steps that do different things.
struct Training {
  const Flags& flags;
  std::shared_ptr<const rt::Dataset> dataset = {};
  bool oneBatch = false;  ///< the first batch again and again
  std::function<rt::Tensor(std::int64_t step, rt::Batch& batch)> step = {};
  std::function<std::uint64_t(std::int64_t step)> key = {};
  void run();
};

/// The flag `amp`: the types of forwards, and the scaling of losses that f16 needs.
class MixedPrecision {
 public:
  explicit MixedPrecision(const Flags& flags);
  /// For the scope of a forward.
  [[nodiscard]] rt::Autocast cast() const;
  rt::optim::GradScaler scaler;  ///< enabled for f16

 private:
  std::string type_;
};

/// Prints the network's size, for the start of a run.
void describe(const char* what, const rt::nn::Module& net);
void printPeakMemory();
/// Runs `body`, prints what it throws, and returns the exit status.
int runSample(const char* name, const std::function<void()>& body);

}  // namespace lacuna::samples
