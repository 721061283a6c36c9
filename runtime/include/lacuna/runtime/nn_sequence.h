// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/nn.h"

/// Operators and modules for sequences [n, time, features].
namespace lacuna::rt {

/// Of one layer, for g gates: input [g·hidden, features], hidden [g·hidden, hidden], biases [g·hidden] or undefined.
struct RecurrentWeights {
  Tensor input, hidden, inputBias, hiddenBias;
};
struct RecurrentResult {
  Tensor output;  ///< the hidden state after each step, [n, time, hidden]
  Tensor hidden;  ///< after the last step, [n, hidden]
  Tensor cell;    ///< lstm only
};
/// Gates in the order input, forget, cell, output. States that are undefined are zeros.
[[nodiscard]] RecurrentResult lstm(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {},
                                   const Tensor& cell = {});
/// Gates in the order reset, update, new; the reset gate is applied after the product with the hidden state.
[[nodiscard]] RecurrentResult gru(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden = {});

}  // namespace lacuna::rt

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

/// Layers of recurrent cells, from zero states; parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, ….
class Recurrent : public Module {
 public:
  [[nodiscard]] const std::vector<RecurrentWeights>& weights() const { return weights_; }

 protected:
  Recurrent(std::int64_t gates, std::int64_t features, std::int64_t hidden, int layers, Options options);
  std::vector<RecurrentWeights> weights_;  ///< by layer
};

class Lstm : public Recurrent {
 public:
  Lstm(std::int64_t features, std::int64_t hidden, int layers = 1, Options options = {})
      : Recurrent(4, features, hidden, layers, options) {}
  [[nodiscard]] const char* kind() const override { return "Lstm"; }

 protected:
  Tensor forward(const Tensor& x) override;
};

class Gru : public Recurrent {
 public:
  Gru(std::int64_t features, std::int64_t hidden, int layers = 1, Options options = {})
      : Recurrent(3, features, hidden, layers, options) {}
  [[nodiscard]] const char* kind() const override { return "Gru"; }

 protected:
  Tensor forward(const Tensor& x) override;
};

}  // namespace lacuna::rt::nn
