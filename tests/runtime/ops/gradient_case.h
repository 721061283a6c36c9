// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {

using Inputs = std::vector<Tensor>;

/// A function of random tensors, whose gradient and the gradient of that are checked against finite
/// differences.
struct GradientCase {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Tensor(const Inputs&)> function;
};

inline void PrintTo(const GradientCase& test, std::ostream* out) {
  *out << test.name;
}

inline std::string caseName(const testing::TestParamInfo<GradientCase>& info) {
  return info.param.name;
}

inline std::string checkCase(const GradientCase& test) {
  manualSeed(11);
  Inputs inputs;
  for (const Shape& shape : test.shapes) {
    Tensor input = empty(shape, {DType::F64});
    inputs.push_back(uniform_(input, -1.5, 1.5).setRequiresGrad());
  }
  GradCheckOptions options;
  options.second = true;
  options.absolute = 2e-5;
  return gradcheck([&](const Inputs& in) { return Inputs{test.function(in)}; }, inputs, options);
}

}  // namespace lacuna::rt
