// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/nn.h"

/// Modules for sequences [n, time, features].
namespace lacuna::rt::nn {

/// Attention of a sequence to itself: parameters in_weight [3·features, features], in_bias, out_weight, out_bias.
class MultiheadAttention : public Module {
 public:
  /// `causal` hides later places.
  MultiheadAttention(std::int64_t features, std::int64_t heads, bool causal = false, Options options = {});
  [[nodiscard]] const char* kind() const override { return "MultiheadAttention"; }
  Tensor inWeight, inBias, outWeight, outBias;

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::int64_t heads_;
  bool causal_;
};

}  // namespace lacuna::rt::nn
