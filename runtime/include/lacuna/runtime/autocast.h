// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::rt {

/// While one lives, this thread's operators take f32 in the type that suits them. Products, convolutions and attention
/// compute in bf16 (lstm and gru through their products). Softmax, losses and layer, group and instance norm take bf16
/// and f16 as f32. Batch norm computes in the type of its input and keeps f32 statistics, as always. All other
/// operators compute in the types that they are given; with two types, in the wider one. f64 stays f64. Parameters stay
/// f32, and so do their gradients. A backward computes each gradient in the type of its forward, inside or outside.
/// Knob `amp`.
class Autocast {
 public:
  explicit Autocast(bool on = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  [[nodiscard]] static bool enabled();

 private:
  bool before_;
};

}  // namespace lacuna::rt
