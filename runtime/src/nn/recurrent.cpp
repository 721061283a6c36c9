// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>

#include "lacuna/runtime/nn_sequence.h"
#include "nn/init.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

/// The checks of both cells; `gates` blocks of `hidden` rows in each weight.
void checkCell(const char* op, const Tensor& x, const Tensor& state, const RecurrentWeights& w,
               std::int64_t gates) {
  needsDefined(op, "x, weights.input, weights.hidden", x, w.input, w.hidden);
  const std::int64_t hidden = w.hidden.rank() == 2 ? w.hidden.size(1) : -1;
  if (x.rank() != 3 || w.input.rank() != 2 || hidden < 0 || w.input.size(1) != x.size(2) ||
      w.input.size(0) != gates * hidden || w.hidden.size(0) != gates * hidden) {
    fail(op, "input " + x.shape().toString() + " [n,time,features] does not fit weights " +
                 w.input.shape().toString() + " [" + std::to_string(gates) +
                 "·hidden,features] and " + w.hidden.shape().toString() + " [" +
                 std::to_string(gates) + "·hidden,hidden]");
  }
  if (state.defined() && state.shape() != Shape{x.size(0), hidden})
    fail(op, "state " + state.shape().toString() + " for " + std::to_string(x.size(0)) +
                 " sequences of " + std::to_string(hidden) + " hidden features");
}

Tensor firstState(const Tensor& state, const Tensor& x, std::int64_t hidden) {
  return state.defined() ? state : zeros({x.size(0), hidden}, {x.dtype(), x.device()});
}

/// The inputs' part of all gates at once, step by step: [n, gates, hidden] each.
std::vector<Tensor> inputParts(const Tensor& x, const RecurrentWeights& w, std::int64_t gates,
                               std::int64_t hidden) {
  return unbind(linear(x, w.input, w.inputBias).view({x.size(0), x.size(1), gates, hidden}), 1);
}

/// Calls step(part) in the order of the direction; the hidden states that it gives, in the order of
/// time.
template <class Step>
Tensor overTime(const std::vector<Tensor>& parts, bool reverse, const Step& step) {
  std::vector<Tensor> outputs(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t at = reverse ? parts.size() - 1 - i : i;
    outputs[at] = step(parts[at]);
  }
  return stack(outputs, 1);
}

RecurrentResult nothing(const Tensor& x, const Tensor& hidden, const Tensor& cell) {
  return {empty({x.size(0), 0, hidden.size(1)}, {x.dtype(), x.device()}), hidden, cell};
}

}  // namespace

RecurrentResult lstm(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden,
                     const Tensor& cell, bool reverse) {
  static const OpInfo kInfo{"lstm"};
  const CompositeOp op(kInfo, {&x});
  checkCell("lstm", x, hidden, weights, 4);
  checkCell("lstm", x, cell, weights, 4);
  const std::int64_t size = weights.hidden.size(1);
  Tensor h = firstState(hidden, x, size);
  Tensor c = firstState(cell, x, size);
  if (x.size(1) == 0) return nothing(x, h, c);
  const Tensor output = overTime(inputParts(x, weights, 4, size), reverse, [&](const Tensor& part) {
    const std::vector<Tensor> gates =
        unbind(add(part, linear(h, weights.hidden, weights.hiddenBias).view(part.shape())), 1);
    c = add(mul(sigmoid(gates[1]), c), mul(sigmoid(gates[0]), tanh(gates[2])));
    h = mul(sigmoid(gates[3]), tanh(c));
    return h;
  });
  return {output, h, c};
}

RecurrentResult gru(const Tensor& x, const RecurrentWeights& weights, const Tensor& hidden,
                    bool reverse) {
  static const OpInfo kInfo{"gru"};
  const CompositeOp op(kInfo, {&x});
  checkCell("gru", x, hidden, weights, 3);
  const std::int64_t size = weights.hidden.size(1);
  Tensor h = firstState(hidden, x, size);
  if (x.size(1) == 0) return nothing(x, h, {});
  const Tensor output = overTime(inputParts(x, weights, 3, size), reverse, [&](const Tensor& part) {
    const std::vector<Tensor> in = unbind(part, 1);
    const std::vector<Tensor> own =
        unbind(linear(h, weights.hidden, weights.hiddenBias).view(part.shape()), 1);
    const Tensor reset = sigmoid(add(in[0], own[0]));
    const Tensor update = sigmoid(add(in[1], own[1]));
    const Tensor fresh = tanh(add(in[2], mul(reset, own[2])));
    h = add(fresh, mul(update, sub(h, fresh)));
    return h;
  });
  return {output, h, {}};
}

namespace nn {

Recurrent::Recurrent(std::int64_t gates, std::int64_t features, std::int64_t hidden,
                     RecurrentOptions recurrent, Options options)
    : directions_(recurrent.bidirectional ? 2 : 1) {
  if (recurrent.layers < 1 || hidden < 1 || features < 1)
    fail("Recurrent", "layers, features and hidden must be at least 1");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (int i = 0; i < recurrent.layers * directions_; ++i) {
    const int layer = i / directions_;
    const std::string direction = i % directions_ == 1 ? "_reverse" : "";
    const std::int64_t in = layer == 0 ? features : hidden * directions_;
    const auto parameter = [&](const char* kind, const Shape& shape) {
      const std::string name = std::string(kind) + "_l" + std::to_string(layer) + direction;
      return addParameter(internText(name),
                          uniformParameter(internText(name), shape, bound, options));
    };
    weights_.push_back({parameter("weight_ih", {gates * hidden, in}),
                        parameter("weight_hh", {gates * hidden, hidden}),
                        parameter("bias_ih", {gates * hidden}),
                        parameter("bias_hh", {gates * hidden})});
  }
}

Tensor Recurrent::forward(const Tensor& x) {
  std::vector<RecurrentResult> results;
  return layersOf(x, {}, {}, results);
}

/// The output of the last layer; of each layer and direction the states after its last step go to
/// `results`.
Tensor Recurrent::layersOf(const Tensor& x, const Tensor& hidden, const Tensor& cell,
                           std::vector<RecurrentResult>& results) {
  const auto ofOne = [](const Tensor& states, std::size_t i) {
    return states.defined() ? states.select(0, static_cast<std::int64_t>(i)) : Tensor();
  };
  Tensor value = x;
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    RecurrentResult result = runLayer(value, weights_[i], ofOne(hidden, i), ofOne(cell, i),
                                      i % static_cast<std::size_t>(directions_) == 1);
    outputs.push_back(std::move(result.output));
    results.push_back(std::move(result));
    if (outputs.size() < static_cast<std::size_t>(directions_)) continue;
    value = outputs.size() == 1 ? outputs[0] : concat(outputs, 2);
    outputs.clear();
  }
  return value;
}

RecurrentResult Recurrent::runLayers(const Tensor& x, const Tensor& hidden, const Tensor& cell) {
  std::optional<instrument::ModuleRange> range;
  if (const void* name = rangeName(); name != nullptr)
    range.emplace(*static_cast<const Name*>(name));
  checkStates(x, hidden, "hidden states");
  checkStates(x, cell, "cells");
  std::vector<RecurrentResult> results;
  const Tensor output = layersOf(x, hidden, cell, results);
  std::vector<Tensor> hiddens;
  std::vector<Tensor> cells;
  for (const RecurrentResult& result : results) {
    hiddens.push_back(result.hidden);
    if (result.cell.defined()) cells.push_back(result.cell);
  }
  return {output, stack(hiddens, 0), cells.empty() ? Tensor() : stack(cells, 0)};
}

void Recurrent::checkStates(const Tensor& x, const Tensor& states, const char* what) const {
  if (!states.defined()) return;
  const Shape wanted{static_cast<std::int64_t>(weights_.size()), x.rank() == 3 ? x.size(0) : -1,
                     weights_[0].hidden.size(1)};
  if (x.rank() != 3 || states.shape() != wanted) {
    fail(kind(), std::string(what) + " " + states.shape().toString() + " for input " +
                     x.shape().toString() +
                     " [n,time,features]; expected [layers·directions,n,hidden] with " +
                     std::to_string(wanted[0]) + " layers·directions and " +
                     std::to_string(wanted[2]) + " hidden");
  }
}

}  // namespace nn
}  // namespace lacuna::rt
