// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instrument/module_range.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

/// First values of parameters; their memory has the role and the name from the start.
namespace lacuna::rt::nn {

inline Tensor uniformParameter(const char* name, const Shape& shape, double bound,
                               Options options) {
  options.role = Role::Parameter;
  const instrument::TensorName naming(name);
  return uniform(shape, -bound, bound, options);
}

inline Tensor filledParameter(const char* name, const Shape& shape, double value, Options options) {
  options.role = Role::Parameter;
  const instrument::TensorName naming(name);
  return full(shape, value, options);
}

}  // namespace lacuna::rt::nn
