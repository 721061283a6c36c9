// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "autograd/node.h"
#include "lacuna/runtime/nn_sequence.h"
#include "nn/init.h"

namespace lacuna::rt {

namespace {

/// What both cells check; `gates` blocks of `hidden` rows in each weight.
void checkCell(const char* op, const Tensor& x, const Tensor& state, const RecurrentWeights& w, std::int64_t gates) {
  const std::int64_t hidden = w.hidden.rank() == 2 ? w.hidden.size(1) : -1;
  if (x.rank() != 3 || w.input.rank() != 2 || hidden < 0 || w.input.size(1) != x.size(2) ||
      w.input.size(0) != gates * hidden || w.hidden.size(0) != gates * hidden) {
    fail(op, "input " + x.shape().toString() + " [n,time,features] does not fit weights " + w.input.shape().toString() +
                 " [" + std::to_string(gates) + "·hidden,features] and " + w.hidden.shape().toString() + " [" +
                 std::to_string(gates) + "·hidden,hidden]");
  }
  if (state.defined() && state.shape() != Shape{x.size(0), hidden})
    fail(op, "state " + state.shape().toString() + " for " + std::to_string(x.size(0)) + " sequences of " +
                 std::to_string(hidden) + " hidden features");
}

Tensor firstState(const Tensor& state, const Tensor& x, std::int64_t hidden) {
  return state.defined() ? state : zeros({x.size(0), hidden}, {x.dtype(), x.device()});
}

/// The inputs' part of all gates at once, step by step: [n, gates, hidden] each.
std::vector<Tensor> inputParts(const Tensor& x, const RecurrentWeights& w, std::int64_t gates, std::int64_t hidden) {
  return unbind(linear(x, w.input, w.inputBias).view({x.size(0), x.size(1), gates, hidden}), 1);
}

RecurrentResult nothing(const Tensor& x, const Tensor& hidden, const Tensor& cell) {
  return {empty({x.size(0), 0, hidden.size(1)}, {x.dtype(), x.device()}), hidden, cell};
}

}  // namespace

RecurrentResult lstm(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden, const Tensor& cell) {
  static const OpInfo kInfo{"lstm"};
  const CompositeOp op(kInfo, {&x});
  checkCell("lstm", x, hidden, weights, 4);
  checkCell("lstm", x, cell, weights, 4);
  const std::int64_t size = weights.hidden.size(1);
  Tensor h = firstState(hidden, x, size);
  Tensor c = firstState(cell, x, size);
  if (x.size(1) == 0) return nothing(x, h, c);
  std::vector<Tensor> outputs;
  for (const Tensor& part : inputParts(x, weights, 4, size)) {
    const std::vector<Tensor> gates =
        unbind(add(part, linear(h, weights.hidden, weights.hiddenBias).view(part.shape())), 1);
    c = add(mul(sigmoid(gates[1]), c), mul(sigmoid(gates[0]), tanh(gates[2])));
    h = mul(sigmoid(gates[3]), tanh(c));
    outputs.push_back(h);
  }
  return {stack(outputs, 1), h, c};
}

RecurrentResult gru(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden) {
  static const OpInfo kInfo{"gru"};
  const CompositeOp op(kInfo, {&x});
  checkCell("gru", x, hidden, weights, 3);
  const std::int64_t size = weights.hidden.size(1);
  Tensor h = firstState(hidden, x, size);
  if (x.size(1) == 0) return nothing(x, h, {});
  std::vector<Tensor> outputs;
  for (const Tensor& part : inputParts(x, weights, 3, size)) {
    const std::vector<Tensor> in = unbind(part, 1);
    const std::vector<Tensor> own = unbind(linear(h, weights.hidden, weights.hiddenBias).view(part.shape()), 1);
    const Tensor reset = sigmoid(add(in[0], own[0]));
    const Tensor update = sigmoid(add(in[1], own[1]));
    const Tensor fresh = tanh(add(in[2], mul(reset, own[2])));
    h = add(fresh, mul(update, sub(h, fresh)));
    outputs.push_back(h);
  }
  return {stack(outputs, 1), h, {}};
}

namespace nn {

Recurrent::Recurrent(std::int64_t gates, std::int64_t features, std::int64_t hidden, int layers, Options options) {
  if (layers < 1 || hidden < 1 || features < 1) fail("Recurrent", "layers, features and hidden must be at least 1");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (int layer = 0; layer < layers; ++layer) {
    const std::int64_t in = layer == 0 ? features : hidden;
    const auto parameter = [&](const char* kind, Shape shape) {
      const std::string name = std::string(kind) + "_l" + std::to_string(layer);
      return addParameter(internText(name), uniformParameter(internText(name), shape, bound, options));
    };
    weights_.push_back({parameter("weight_ih", {gates * hidden, in}), parameter("weight_hh", {gates * hidden, hidden}),
                        parameter("bias_ih", {gates * hidden}), parameter("bias_hh", {gates * hidden})});
  }
}

Tensor Lstm::forward(const Tensor& x) {
  Tensor value = x;
  for (const RecurrentWeights& weights : weights_) value = lstm(value, weights).output;
  return value;
}

Tensor Gru::forward(const Tensor& x) {
  Tensor value = x;
  for (const RecurrentWeights& weights : weights_) value = gru(value, weights).output;
  return value;
}

}  // namespace nn
}  // namespace lacuna::rt
