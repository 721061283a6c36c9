// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/demand.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

using Shape = std::vector<double>;

struct Input {
  Number number = Number::Unknown;
  double bytes = 0;  ///< of one value; 0: not known
  Shape shape;
  [[nodiscard]] double values() const {
    return std::accumulate(shape.begin(), shape.end(), 1.0,
                           [](double a, double b) { return a * b; });
  }
};

struct TypeName {
  std::string_view text;
  Number number;
  double bytes;
};
constexpr TypeName kTypes[] = {
    {"f64", Number::F64, 8},   {"f32", Number::F32, 4},     {"f16", Number::F16, 2},
    {"bf16", Number::Bf16, 2}, {"i64", Number::Unknown, 8}, {"i32", Number::Unknown, 4},
    {"i8", Number::I8, 1},     {"u8", Number::Unknown, 1},  {"bool", Number::Unknown, 1}};

Shape numbersIn(std::string_view text) {
  Shape shape;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) {
      ++at;
      continue;
    }
    double value = 0;
    const auto end = std::from_chars(text.data() + at, text.data() + text.size(), value).ptr;
    shape.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
  }
  return shape;
}

/// An operator's inputs: tensors, and the lists of numbers among them.
struct Inputs {
  std::vector<Input> tensors;
  std::vector<Shape> lists;
};

/// "f32[8,4] {f32[2,4]} (1,1)" or "[[8, 4], [2, 4], []]". Kineto writes a scalar or a missing
/// tensor as [].
Inputs inputsOf(std::string_view shapes) {
  const bool listed = shapes.starts_with("[[");
  if (listed) shapes.remove_prefix(1);
  Inputs inputs;
  std::size_t from = 0;
  for (std::size_t open = shapes.find_first_of("[("); open != std::string_view::npos;
       open = shapes.find_first_of("[(", from)) {
    const std::size_t close = std::min(shapes.find_first_of("])", open), shapes.size());
    Shape numbers = numbersIn(shapes.substr(open + 1, close - open - 1));
    std::string_view type = shapes.substr(from, open - from);
    while (!type.empty() && std::string_view(" ,{}").find(type.front()) != std::string_view::npos)
      type.remove_prefix(1);
    from = std::min(close + 1, shapes.size());
    if (shapes[open] == '(') {
      inputs.lists.push_back(std::move(numbers));
      continue;
    }
    Input input{.shape = std::move(numbers)};
    for (const TypeName& known : kTypes) {
      if (type != known.text) continue;
      input.number = known.number;
      input.bytes = known.bytes;
    }
    if (!listed || !input.shape.empty()) inputs.tensors.push_back(std::move(input));
  }
  return inputs;
}

std::string_view bareName(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  return name;
}

/// Multiply-adds of two matrices (or stacks of them): [..., m, k] × [..., k, n].
struct Product {
  double stack = 1, m = 0, k = 0, n = 0;
};
std::optional<Product> productOf(const Shape& a, const Shape& b, bool transposed) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double inner = transposed ? b[b.size() - 1] : b[b.size() - 2];
  if (a.back() != inner) return std::nullopt;
  Product product{1, a[a.size() - 2], a.back(), transposed ? b[b.size() - 2] : b.back()};
  for (std::size_t i = 0; i + 2 < a.size(); ++i) product.stack *= a[i];
  return product;
}

Demand productDemand(const Product& p, double bytes, bool sharedSecond) {
  Demand demand;
  demand.flops = 2 * p.stack * p.m * p.k * p.n;
  demand.bytes = bytes * (p.stack * p.m * p.k + (sharedSecond ? 1 : p.stack) * p.k * p.n +
                          p.stack * p.m * p.n);
  return demand;
}

/// Output [n, o, …] and weight [o, c, k…] of a convolution give all of it.
Demand convolutionDemand(const Shape& output, const Shape& weight, double inputValues,
                         double bytes) {
  const double outputs = std::accumulate(output.begin(), output.end(), 1.0, std::multiplies<>());
  const double weights = std::accumulate(weight.begin(), weight.end(), 1.0, std::multiplies<>());
  Demand demand;
  demand.flops = 2 * outputs * weights / weight[0];
  demand.bytes = bytes * (outputs + weights + inputValues);
  return demand;
}

/// The output of a convolution of input [n, c, …] and weight [o, c, k…]. Empty unless the lists are
/// stride, padding and dilation; one number stands for all dimensions.
Shape outputOf(const Shape& input, const Shape& weight, std::span<const Shape> lists) {
  if (input.size() != weight.size() || lists.size() < 3) return {};
  Shape output{input[0], weight[0]};
  for (std::size_t i = 2; i < input.size(); ++i) {
    const auto at = [&](const Shape& list) {
      return i - 2 < list.size() ? list[i - 2] : list.size() == 1 ? list[0] : 0;
    };
    const double stride = at(lists[0]), padding = at(lists[1]), dilation = at(lists[2]);
    if (stride <= 0 || dilation <= 0) return {};
    const double positions =
        std::floor((input[i] + 2 * padding - dilation * (weight[i] - 1) - 1) / stride) + 1;
    if (positions <= 0) return {};
    output.push_back(positions);
  }
  return output;
}

/// Each value of the input [n, c, …] meets every weight [c, o, k…] of its channel.
Demand transposedDemand(const Input& input, const Input& weight, double bytes) {
  Demand demand;
  demand.flops = 2 * input.values() * weight.values() / weight.shape[0];
  demand.bytes = bytes * (input.values() + weight.values());
  return demand;
}

/// The demand of a convolution by any name; zero for other operators.
Demand convolutionDemandOf(std::string_view name, const Inputs& inputs, double bytes) {
  static constexpr std::string_view kForward[] = {"conv1d", "conv2d", "conv3d", "convolution",
                                                  "_convolution"};
  const auto& tensors = inputs.tensors;
  const auto isWeight = [&](std::size_t i) {
    return i < tensors.size() && tensors[i].shape.size() > 2;
  };
  if (name == "conv2d_grad_input" && isWeight(1)) {
    return convolutionDemand(tensors[0].shape, tensors[1].shape, 0, bytes);
  }
  if (name == "convolution_backward" && isWeight(2)) {
    Demand demand =
        convolutionDemand(tensors[0].shape, tensors[2].shape, tensors[1].values(), bytes);
    demand.flops *= 2;  // the gradients of input and weight
    return demand;
  }
  if (name.starts_with("conv_transpose") && isWeight(1))
    return transposedDemand(tensors[0], tensors[1], bytes);
  if (std::ranges::find(kForward, name) == std::end(kForward) || !isWeight(1)) return {};
  const Shape output = outputOf(tensors[0].shape, tensors[1].shape, inputs.lists);
  return output.empty() ? Demand{}
                        : convolutionDemand(output, tensors[1].shape, tensors[0].values(), bytes);
}

/// The demand of attention with queries [.., l, e], keys [.., s, e] and values [.., s, v]. The
/// forward makes two products, the backward five, for it repeats the first; its inputs begin with
/// the output's gradient.
Demand attentionDemand(std::string_view name, std::span<const Input> inputs, double bytes) {
  const bool backward = contains(name, "backward");
  if (backward && !inputs.empty()) inputs = inputs.subspan(1);
  if (inputs.size() < 3) return {};
  const Shape &q = inputs[0].shape, &k = inputs[1].shape, &v = inputs[2].shape;
  if (q.size() < 2 || q.size() != k.size() || k.size() != v.size() || q.back() != k.back())
    return {};
  const std::size_t rows = q.size() - 2;
  const double outputs = inputs[0].values() / q.back() * v.back();
  Demand demand;
  demand.flops =
      (backward ? 5 : 2) * inputs[0].values() / q.back() * k[rows] * (q.back() + v.back());
  demand.bytes = bytes * (inputs[0].values() + inputs[1].values() + inputs[2].values() + outputs);
  return demand;
}

Demand productDemandOf(std::string_view name, std::span<const Input> inputs, double bytes) {
  const std::size_t first = name == "addmm" || name == "baddbmm" ? 1 : 0;
  if (inputs.size() < first + 2) return {};
  const Shape& b = inputs[first + 1].shape;
  const auto product = productOf(inputs[first].shape, b, name == "linear");
  return product ? productDemand(*product, bytes, b.size() == 2) : Demand{};
}

bool isProduct(std::string_view name) {
  static constexpr std::string_view kNames[] = {"linear", "matmul", "mm",
                                                "bmm",    "addmm",  "baddbmm"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

Demand elementwiseDemand(const std::vector<Input>& inputs, double defaultBytes) {
  Demand demand;
  double most = 0;
  for (const Input& input : inputs) {
    const double bytes = input.values() * (input.bytes > 0 ? input.bytes : defaultBytes);
    demand.bytes += bytes;
    most = std::max(most, bytes);
  }
  demand.bytes += most;
  return demand;
}

bool isElementwise(std::string_view name) {
  static constexpr std::string_view kNames[] = {"add",
                                                "add_",
                                                "sub",
                                                "sub_",
                                                "mul",
                                                "mul_",
                                                "div",
                                                "div_",
                                                "relu",
                                                "relu_",
                                                "gelu",
                                                "tanh",
                                                "sigmoid",
                                                "exp",
                                                "sqrt",
                                                "neg",
                                                "threshold_backward",
                                                "gelu_backward",
                                                "sigmoid_backward",
                                                "tanh_backward",
                                                "elementwise_grad",
                                                "add_scalar",
                                                "mul_scalar",
                                                "div_scalar",
                                                "clamp_min"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

std::string_view numberName(Number number) {
  static constexpr std::string_view kNames[kNumberCount] = {"unknown", "f64",  "f32", "tf32",
                                                            "f16",     "bf16", "i8",  "f8"};
  return kNames[static_cast<std::size_t>(number)];
}

void Demand::add(const Demand& other) {
  if (other.flops > flops || number == Number::Unknown) number = other.number;
  flops += other.flops;
  bytes += other.bytes;
}

Demand demandOf(std::string_view fullName, std::string_view shapes, double defaultBytes) {
  const std::string_view name = bareName(fullName);
  const Inputs inputs = inputsOf(shapes);
  if (inputs.tensors.empty()) return {};
  const Input& first = inputs.tensors.front();
  const double bytes = first.bytes > 0 ? first.bytes : defaultBytes;
  Demand demand;
  if (isProduct(name)) {
    demand = productDemandOf(name, inputs.tensors, bytes);
  } else if (isElementwise(name)) {
    demand = elementwiseDemand(inputs.tensors, defaultBytes);
  } else if (contains(name, "scaled_dot_product")) {
    demand = attentionDemand(name, inputs.tensors, bytes);
  } else {
    demand = convolutionDemandOf(name, inputs, bytes);
  }
  if (!std::isfinite(demand.flops)) return {};  // a size is 0, or beyond all numbers
  demand.number = first.number;
  return demand;
}

}  // namespace lacuna::analyzer
