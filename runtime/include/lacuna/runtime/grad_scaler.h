// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/runtime/tensor.h"

namespace lacuna::rt::optim {

class Optimizer;

struct GradScalerOptions {
  double factor = 65536;  ///< at first
  double growth =
      2;  ///< of the factor, after so many updates in a row without an infinite gradient
  double backoff = 0.5;  ///< of the factor, after an update with one
  std::int64_t growthInterval = 2000;
  bool enabled = true;
};

/// Keeps the gradients of a training in f16 within the range of f16: the loss is multiplied by a
/// factor, and the gradients are divided by it before they are used. The factor grows until a
/// gradient becomes infinite. That step is skipped, and the factor shrinks. A step of training:
///
///     scaler.scale(loss).backward();  // several times, to add gradients up
///     scaler.unscale(adam);           // only where gradients are read or clipped before the step
///     clipGradNorm(parameters, 1);
///     scaler.step(adam);              // of each optimizer
///     scaler.update();                // once, after all of them
///
/// Where it is not enabled, scale() returns the loss and step() is the optimizer's: nothing is
/// checked. Not for several threads at once.
class GradScaler {
 public:
  /// Throws where a factor is not positive and finite, growth below 1, backoff above 1, or the
  /// interval below 1.
  explicit GradScaler(GradScalerOptions options = {});

  /// The loss times the factor; of a 16-bit loss in f32.
  [[nodiscard]] Tensor scale(const Tensor& loss);
  /// Divides the gradients of the optimizer's parameters by the factor, and looks for infinite ones
  /// and NaN: one execution, which it does not wait for. Gradients of f16 become f32, so that they
  /// keep small values. Throws after another unscale() or step() of the optimizer since update(),
  /// and for one that steps within the backward.
  void unscale(Optimizer& optimizer);
  /// Steps, and returns true, unless a gradient is infinite or NaN: then everything stays as it is.
  /// It unscales where that has not been done. Waits for the gradients. Throws after another step()
  /// of the optimizer since update().
  bool step(Optimizer& optimizer);
  /// Lets the factor grow or shrink. Throws where no optimizer had a step() or unscale() since the
  /// last one.
  void update();

  [[nodiscard]] bool enabled() const { return options_.enabled; }
  [[nodiscard]] double factor() const { return options_.enabled ? state_.factor : 1; }

  /// For saving (see checkpoint.h).
  struct State {
    double factor;
    std::int64_t finiteUpdates;  ///< in a row, since the factor changed
  };
  [[nodiscard]] State state() const { return state_; }
  /// Throws where the factor is not positive and finite, or the count negative.
  void setState(State state);

 private:
  /// An optimizer since the last update().
  struct Progress {
    const Optimizer* optimizer;
    Tensor infinite;  ///< not 0 where a gradient is; undefined where none has a value
    bool stepped = false;
  };
  Progress* progressOf(const Optimizer& optimizer);
  Progress& unscaled(Optimizer& optimizer);
  static bool foundInfinite(Progress& progress);

  GradScalerOptions options_;
  State state_;
  std::vector<Progress> progress_;
  double reported_ = 0;  ///< the factor that tools were last given
};

}  // namespace lacuna::rt::optim
