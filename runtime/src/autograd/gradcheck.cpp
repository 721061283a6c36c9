// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {

namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Weights that make each output element count differently: a fixed, irregular pattern.
Tensor weightsFor(const Tensor& output) {
  std::vector<double> values(static_cast<std::size_t>(output.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.5 + std::fmod(static_cast<double>(i) * 0.6180339887, 1.0);
  return fromVector(values, output.shape());
}

Tensor weighted(const Function& function, const std::vector<Tensor>& inputs) {
  Tensor total;
  for (const Tensor& output : function(inputs)) {
    if (!isFloating(output.dtype())) continue;
    const Tensor part = sum(mul(output.to(DType::F64), weightsFor(output)));
    total = total.defined() ? add(total, part) : part;
  }
  if (!total.defined()) fail("gradcheck", "the function has no floating output");
  return total;
}

double numeric(const Function& function, const std::vector<Tensor>& inputs, double& element,
               double step) {
  const NoGrad guard;
  const double held = element;
  synchronize();
  element = held + step;
  const double above = weighted(function, inputs).item();
  element = held - step;
  const double below = weighted(function, inputs).item();
  element = held;
  return (above - below) / (2 * step);
}

std::string compare(const Function& function, const std::vector<Tensor>& inputs,
                    const GradCheckOptions& options) {
  // A gradient of something linear does not depend on the inputs any more: its derivative is zero.
  const Tensor total = weighted(function, inputs);
  const std::vector<Tensor> analytic = total.requiresGrad()
                                           ? grad({total}, inputs, {}, {false, false, true})
                                           : std::vector<Tensor>(inputs.size());
  std::string worst;
  double worstExcess = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto computed =
        analytic[i].defined()
            ? analytic[i].toVector<double>()
            : std::vector<double>(static_cast<std::size_t>(inputs[i].numel()), 0.0);
    const auto elements = inputs[i].host<double>();
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const double expected = numeric(function, inputs, elements[k], options.step);
      const double excess = std::abs(computed[k] - expected) - options.absolute -
                            options.relative * std::abs(expected);
      if (excess > worstExcess || std::isnan(excess)) {
        worstExcess = std::isnan(excess) ? 1e300 : excess;
        worst = "input " + std::to_string(i) + " " + inputs[i].shape().toString() + ", element " +
                std::to_string(k) + ": gradient " + std::to_string(computed[k]) +
                ", finite difference " + std::to_string(expected);
      }
    }
  }
  return worst;
}

}  // namespace

std::string gradcheck(const Function& function, const std::vector<Tensor>& inputs,
                      GradCheckOptions options) {
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::F64 || !input.requiresGrad() || !input.isLeaf() ||
        !input.isContiguous()) {
      fail("gradcheck",
           "inputs must be contiguous f64 leaves that require gradients; make views inside the "
           "function");
    }
  }
  std::string first = compare(function, inputs, options);
  if (!first.empty() || !options.second) return first;
  const Function gradients = [&](const std::vector<Tensor>& at) {
    // The differences run without recording, but the inner gradient always needs it.
    const bool before = GradMode::enabled();
    GradMode::set(true);
    auto out = grad({weighted(function, at)}, at, {}, {true, true, true});
    GradMode::set(before);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!out[i].defined()) out[i] = zerosLike(at[i]);
    }
    return out;
  };
  const std::string second = compare(gradients, inputs, options);
  return second.empty() ? second : "second derivative: " + second;
}

}  // namespace lacuna::rt
