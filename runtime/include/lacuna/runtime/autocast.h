// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/dtype.h"

namespace lacuna::rt {

/// While one lives, this thread's operators take floating types up to f32 in the type that suits
/// them. Products, convolutions and attention compute in bf16, or in f16 (lstm and gru through
/// their products). Operators that add up, or whose results leave the range of f16, take bf16 and
/// f16 as f32: softmax, losses, layer, group and instance norm, sum, mean, var, exp, log, log1p,
/// pow, square, reciprocal, rsqrt and softplus. Batch norm computes in the type of its input and
/// keeps f32 statistics, as always. All other operators compute in the types that they are given;
/// with two types (concat and stack too), in the wider one. f64 stays f64. Parameters stay in their
/// type, and so do their gradients. A backward computes each gradient in the type of its forward,
/// inside or outside. In f16 small gradients become zero: see GradScaler (grad_scaler.h). Knob
/// `amp`.
class Autocast {
 public:
  /// In bf16, or off.
  explicit Autocast(bool on = true);
  /// Throws for a type other than bf16 and f16.
  explicit Autocast(DType type);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  [[nodiscard]] static bool enabled();
  /// The type of the products, where one is enabled.
  [[nodiscard]] static DType type();

 private:
  bool before_;
  DType typeBefore_;
};

}  // namespace lacuna::rt
