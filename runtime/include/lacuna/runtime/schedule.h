// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "lacuna/runtime/optim.h"

/// Learning rates that change during training.
namespace lacuna::rt::optim {

/// Factor on the optimizer's base rate at step 0, 1, …
using Curve = std::function<double(std::int64_t step)>;

/// Times `gamma` after every `every` steps.
[[nodiscard]] Curve stepDecay(std::int64_t every, double gamma = 0.1);
/// Half a cosine from 1 to `floor` in `total` steps, and `floor` from then on.
[[nodiscard]] Curve cosineDecay(std::int64_t total, double floor = 0);
/// Linear up to 1: 1/steps at step 0, 1 at step `steps` - 1; `then` starts after that, at its step
/// 0. Without one, 1.
[[nodiscard]] Curve warmUp(std::int64_t steps, Curve then);
/// Cosine from 1 / `start` up to 1 in `rise` of `total` steps, then down to 1 / (`start` × `end`).
[[nodiscard]] Curve oneCycle(std::int64_t total, double rise = 0.3, double start = 25,
                             double end = 1e4);

/// Sets an optimizer's rate along a curve. The optimizer must outlive it.
class Schedule {
 public:
  /// Sets the rate of step 0 at once, on top of the optimizer's base rate. An optimizer keeps the
  /// base rate that it began with, also after another schedule, or when it was loaded in the middle
  /// of one. Throws when the curve is empty.
  Schedule(Optimizer& optimizer, Curve curve);
  /// Once after every optimizer step.
  void step();
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// Continues where a saved run was.
  void setSteps(std::int64_t steps);

 private:
  void apply();

  Optimizer& optimizer_;
  Curve curve_;
  double rate_;
  std::int64_t steps_ = 0;
};

struct PlateauOptions {
  double factor = 0.1;
  int patience = 10;        ///< steps without progress that are tolerated
  double threshold = 1e-4;  ///< less relative progress than this is none
  int cooldown = 0;         ///< steps after a reduction that do not count
  double smallestRate = 0;
  bool smallerIsBetter = true;
};
/// Reduces the rate when a measured value stops getting better. The optimizer must outlive it.
class ReduceOnPlateau {
 public:
  explicit ReduceOnPlateau(Optimizer& optimizer, PlateauOptions options = {});
  /// To be called once per measured value, such as an epoch's validation loss.
  void step(double value);

 private:
  [[nodiscard]] bool isBetter(double value) const;

  Optimizer& optimizer_;
  PlateauOptions options_;
  double best_;
  int bad_ = 0;
  int cooling_ = 0;
};

}  // namespace lacuna::rt::optim
