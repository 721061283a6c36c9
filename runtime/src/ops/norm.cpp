// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "autograd/node.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {

namespace {

/// (x - mean) / sqrt(variance + epsilon) over `dims`.
Tensor standardized(const Tensor& x, const std::vector<int>& dims, double epsilon) {
  const Tensor centred = x - mean(x, dims, true);
  return mul(centred, rsqrt(add(mean(square(centred), dims, true), epsilon)));
}

Tensor scaled(Tensor x, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) x = mul(x, weight);
  return bias.defined() ? add(x, bias) : x;
}

/// [C] as [1, C, 1, …], to stretch over x [N, C, …].
Tensor perChannel(const char* op, const Tensor& values, const Tensor& x) {
  if (!values.defined()) return values;
  if (values.shape() != Shape{x.size(1)}) {
    fail(op, values.shape().toString() + " for the channels of " + x.shape().toString());
  }
  Shape shape = Shape::filled(x.rank(), 1);
  shape[1] = x.size(1);
  return values.view(shape);
}

}  // namespace

Tensor layerNorm(const Tensor& x, const Shape& normalized, const Tensor& weight, const Tensor& bias, double epsilon) {
  static const OpInfo kInfo{"layer_norm"};
  const CompositeOp op(kInfo, {&x, &weight, &bias});
  std::vector<int> dims;
  for (int i = 0; i < normalized.rank(); ++i) {
    const int d = x.rank() - normalized.rank() + i;
    if (d < 0 || x.shape()[d] != normalized[i]) {
      fail("layer_norm", "input " + x.shape().toString() + " does not end in " + normalized.toString());
    }
    dims.push_back(d);
  }
  return scaled(standardized(x, dims, epsilon), weight, bias);
}

Tensor groupNorm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double epsilon) {
  static const OpInfo kInfo{"group_norm"};
  const CompositeOp op(kInfo, {&x, &weight, &bias});
  if (x.rank() < 2 || groups < 1 || x.size(1) % groups != 0) {
    fail("group_norm", std::to_string(groups) + " groups of the channels of " + x.shape().toString());
  }
  const Tensor grouped = x.reshape({x.size(0), groups, -1});
  return scaled(standardized(grouped, {2}, epsilon).view(x.shape()), perChannel("group_norm", weight, x),
                perChannel("group_norm", bias, x));
}

Tensor instanceNorm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  return groupNorm(x, x.size(1), weight, bias, epsilon);
}

}  // namespace lacuna::rt
