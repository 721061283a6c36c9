// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/nn.h"

/// Operators and modules for sequences [n, time, features].
namespace lacuna::rt {

/// The weights of one layer, for g gates: input [g·hidden, features], hidden [g·hidden, hidden],
/// biases [g·hidden] or undefined.
struct RecurrentWeights {
  Tensor input, hidden, inputBias, hiddenBias;
};
struct RecurrentResult {
  Tensor output;  ///< the hidden state after each step, [n, time, hidden]
  Tensor hidden;  ///< after the last step, [n, hidden]
  Tensor cell;    ///< lstm only
};
/// Gates in the order input, forget, cell, output. States that are undefined are zeros. With
/// `reverse` the last step of the sequence is the first that is taken; its output still stands
/// last.
[[nodiscard]] RecurrentResult lstm(const Tensor& x, const RecurrentWeights& weights,
                                   const Tensor& hidden = {}, const Tensor& cell = {},
                                   bool reverse = false);
/// Gates in the order reset, update, new; the reset gate is applied after the product with the
/// hidden state.
[[nodiscard]] RecurrentResult gru(const Tensor& x, const RecurrentWeights& weights,
                                  const Tensor& hidden = {}, bool reverse = false);

}  // namespace lacuna::rt

namespace lacuna::rt::nn {

/// Attention of a sequence to itself: parameters in_weight [3·features, features], in_bias,
/// out_weight, out_bias.
class MultiheadAttention : public Module {
 public:
  /// `causal` hides later places.
  MultiheadAttention(std::int64_t features, std::int64_t heads, bool causal = false,
                     Options options = {});
  [[nodiscard]] const char* kind() const override { return "MultiheadAttention"; }
  Tensor inWeight, inBias, outWeight, outBias;

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::int64_t heads_;
  bool causal_;
};

struct RecurrentOptions {
  int layers = 1;
  bool bidirectional = false;  ///< each layer also reads the sequence backwards
};

/// Layers of recurrent cells, called from zero states; parameters weight_ih_l0, weight_hh_l0,
/// bias_ih_l0, bias_hh_l0, …, and of the backward direction weight_ih_l0_reverse, …. With both
/// directions the output is [n, time, 2·hidden]: of each step the forward direction's hidden state,
/// then the backward one's; the next layer reads both.
class Recurrent : public Module {
 public:
  /// By layer, within a layer by direction.
  [[nodiscard]] const std::vector<RecurrentWeights>& weights() const { return weights_; }

 protected:
  Recurrent(std::int64_t gates, std::int64_t features, std::int64_t hidden,
            RecurrentOptions recurrent, Options options);
  Tensor forward(const Tensor& x) override;
  /// Does the work of the modules' run().
  RecurrentResult runLayers(const Tensor& x, const Tensor& hidden, const Tensor& cell);
  /// One layer in one direction.
  virtual RecurrentResult runLayer(const Tensor& x, const RecurrentWeights& weights,
                                   const Tensor& hidden, const Tensor& cell, bool reverse) = 0;

 private:
  Tensor layersOf(const Tensor& x, const Tensor& hidden, const Tensor& cell,
                  std::vector<RecurrentResult>& results);
  void checkStates(const Tensor& x, const Tensor& states, const char* what) const;

  std::vector<RecurrentWeights> weights_;
  int directions_;
};

class Lstm : public Recurrent {
 public:
  Lstm(std::int64_t features, std::int64_t hidden, RecurrentOptions recurrent, Options options = {})
      : Recurrent(4, features, hidden, recurrent, options) {}
  Lstm(std::int64_t features, std::int64_t hidden, int layers = 1, Options options = {})
      : Lstm(features, hidden, RecurrentOptions{layers, false}, options) {}
  [[nodiscard]] const char* kind() const override { return "Lstm"; }
  /// From these states, zeros where undefined, and with the states after the last step: each
  /// [layers·directions, n, hidden], in the order of weights(). The backward direction's last step
  /// is the sequence's first.
  [[nodiscard]] RecurrentResult run(const Tensor& x, const Tensor& hidden = {},
                                    const Tensor& cell = {}) {
    return runLayers(x, hidden, cell);
  }

 protected:
  RecurrentResult runLayer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden,
                           const Tensor& cell, bool reverse) override {
    return lstm(x, weights, hidden, cell, reverse);
  }
};

class Gru : public Recurrent {
 public:
  Gru(std::int64_t features, std::int64_t hidden, RecurrentOptions recurrent, Options options = {})
      : Recurrent(3, features, hidden, recurrent, options) {}
  Gru(std::int64_t features, std::int64_t hidden, int layers = 1, Options options = {})
      : Gru(features, hidden, RecurrentOptions{layers, false}, options) {}
  [[nodiscard]] const char* kind() const override { return "Gru"; }
  /// As Lstm::run, without a cell.
  [[nodiscard]] RecurrentResult run(const Tensor& x, const Tensor& hidden = {}) {
    return runLayers(x, hidden, {});
  }

 protected:
  RecurrentResult runLayer(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden,
                           const Tensor& /*cell*/, bool reverse) override {
    return gru(x, weights, hidden, reverse);
  }
};

}  // namespace lacuna::rt::nn
