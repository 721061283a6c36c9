// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/data.h"
#include "lacuna/runtime/ops.h"

/// Random shapes, and the ways in which a tensor of a shape may lie in memory.
namespace lacuna::rt {

enum class Layout : std::uint8_t { Contiguous, Transposed, EverySecond, Middle, Expanded };
inline constexpr Layout kLayouts[] = {Layout::Contiguous, Layout::Transposed, Layout::EverySecond,
                                      Layout::Middle, Layout::Expanded};

/// The shape of the memory behind a tensor of `shape` in this layout.
inline Shape baseShape(const Shape& shape, Layout layout) {
  Shape base = shape;
  if (shape.rank() == 0) return base;
  const int last = shape.rank() - 1;
  if (layout == Layout::Transposed) {
    for (int d = 0; d <= last; ++d) base[d] = shape[last - d];
  } else if (layout == Layout::EverySecond) {
    base[last] = 2 * shape[last] + 1;
  } else if (layout == Layout::Middle) {
    base[0] += 3;
  } else if (layout == Layout::Expanded) {
    base[0] = 1;
  }
  return base;
}

/// `base` seen as a tensor of `shape`; differentiable.
inline Tensor arranged(const Tensor& base, const Shape& shape, Layout layout) {
  if (shape.rank() == 0 || layout == Layout::Contiguous) return base;
  const int last = shape.rank() - 1;
  if (layout == Layout::EverySecond) return base.slice(last, 1, 2 * shape[last] + 1, 2);
  if (layout == Layout::Middle) return base.slice(0, 1, shape[0] + 1);
  if (layout == Layout::Expanded) return base.expand(shape);
  Shape order = shape;
  for (int d = 0; d <= last; ++d) order[d] = last - d;
  return base.permute(order);
}

/// Empty ones, single elements, every rank up to 4.
inline Shape randomShape(SampleRandom& random, int leastRank = 0, bool mayBeEmpty = true) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 4, 1, 0};
  Shape shape;
  const auto rank =
      leastRank + static_cast<int>(random.below(static_cast<std::uint64_t>(5 - leastRank)));
  for (int d = 0; d < rank; ++d) shape.push(kSizes[random.below(mayBeEmpty ? 7 : 6)]);
  return shape;
}

inline Layout randomLayout(SampleRandom& random) {
  return kLayouts[random.below(5)];
}

/// Values between low and high that keep a distance from the places where functions have corners
/// (0, ±0.5, ±1, …).
inline Tensor randomBase(SampleRandom& random, const Shape& shape, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) {
    value = low + (high - low) * random.uniform();
    const double corner = std::round(2 * value) / 2;
    if (std::abs(value - corner) < 0.02) value = corner + (corner + 0.03 < high ? 0.03 : -0.03);
  }
  return fromVector(values, shape).clone();
}

struct Arranged {
  Shape shape;
  Layout layout;
  Tensor base;
  [[nodiscard]] Tensor view() const { return arranged(base, shape, layout); }
  [[nodiscard]] Tensor view(DType type) const { return arranged(base.to(type), shape, layout); }
  [[nodiscard]] std::string text() const {
    return shape.toString() + " in layout " + std::to_string(static_cast<int>(layout));
  }
};

inline Arranged randomArranged(SampleRandom& random, const Shape& shape, double low, double high) {
  const Layout layout = randomLayout(random);
  return {shape, layout, randomBase(random, baseShape(shape, layout), low, high)};
}

/// A shape that broadcasts to `shape`: leading dimensions left out, others made 1.
inline Shape broadcastable(SampleRandom& random, const Shape& shape) {
  Shape out;
  const auto skip = static_cast<int>(random.below(static_cast<std::uint64_t>(shape.rank() + 1)));
  for (int d = random.below(2) == 0 ? 0 : skip; d < shape.rank(); ++d)
    out.push(random.below(3) == 0 ? 1 : shape[d]);
  return out;
}

/// Gradients of `function` with respect to the memory behind the inputs, against finite
/// differences.
inline std::string checkGradient(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                                 const std::vector<Arranged>& inputs, bool second = false) {
  std::vector<Tensor> leaves;
  for (const Arranged& input : inputs) leaves.push_back(input.base.clone().setRequiresGrad());
  GradCheckOptions options;
  options.second = second;
  options.absolute = 5e-5;
  return gradcheck(
      [&](const std::vector<Tensor>& in) {
        std::vector<Tensor> views;
        for (std::size_t i = 0; i < in.size(); ++i)
          views.push_back(arranged(in[i], inputs[i].shape, inputs[i].layout));
        return std::vector<Tensor>{function(views)};
      },
      leaves, options);
}

/// Gradients of `function` with respect to the memory behind the inputs, in `type` against f64,
/// from the same values and the same seed. The types take other ways through the kernels. Returns
/// the first difference above `tolerance` of the largest gradient, or an empty text.
inline std::string compareGradient(
    const std::function<Tensor(const std::vector<Tensor>&)>& function,
    const std::vector<Arranged>& inputs, DType type, double tolerance) {
  Tensor seed;
  const auto gradients = [&](DType computed) {
    std::vector<Tensor> leaves;
    std::vector<Tensor> views;
    for (const Arranged& input : inputs) {
      leaves.push_back(input.base.to(type).to(computed).clone().setRequiresGrad());
      views.push_back(arranged(leaves.back(), input.shape, input.layout));
    }
    const Tensor y = function(views);
    if (!seed.defined())
      seed = cos(arange(y.numel()).to(DType::F64)).view(y.shape()).to(type).to(DType::F64);
    y.backward(seed.to(y.dtype()));
    std::vector<std::vector<double>> all;
    for (const Tensor& leaf : leaves) all.push_back(leaf.grad().toVector<double>());
    return all;
  };
  const auto exact = gradients(DType::F64);
  const auto got = gradients(type);
  double largest = 1;
  for (const auto& one : exact) {
    for (const double value : one) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    for (std::size_t at = 0; at < exact[i].size(); ++at) {
      if (std::abs(got[i][at] - exact[i][at]) <= tolerance * largest) continue;
      return std::string(name(type)) + " gradient of input " + std::to_string(i) + " at " +
             std::to_string(at) + " is " + std::to_string(got[i][at]) + ", in f64 " +
             std::to_string(exact[i][at]);
    }
  }
  return "";
}

/// The operator on meta next to the CPU: what differs in shape, type or order in memory of its
/// result, or in shape or type of its gradients; or nothing.
inline std::string compareMeta(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                               const std::vector<Arranged>& inputs, DType type) {
  const auto describe = [](const Tensor& x) { return x.shape().toString() + name(x.dtype()); };
  const auto describeAll = [&](Device device) {
    std::vector<Tensor> leaves;
    std::vector<Tensor> views;
    for (const Arranged& input : inputs) {
      leaves.push_back(input.base.to(type).clone().to(device).setRequiresGrad());
      views.push_back(arranged(leaves.back(), input.shape, input.layout));
    }
    const Tensor y = function(views);
    if (y.device() != device) return std::string("on ") + toString(y.device());
    std::string all =
        describe(y) + " strides " + (y.numel() == 0 ? "of nothing" : y.strides().toString());
    if (y.requiresGrad()) y.backward(ones(y.shape(), {y.dtype(), device}));
    for (const Tensor& leaf : leaves)
      all += ", gradient " + (leaf.grad().defined() ? describe(leaf.grad()) : "none");
    return all;
  };
  const std::string onCpu = describeAll(kCpu);
  const std::string onMeta = describeAll(kMeta);
  return onCpu == onMeta ? "" : "cpu: " + onCpu + "; meta: " + onMeta;
}

}  // namespace lacuna::rt
