// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backend/backend.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/tensor.h"

/// Things that several operators need.
namespace lacuna::rt {

/// The type in which sums and statistics of `type` are kept: f32 for the 16-bit ones, where a sum
/// soon stops growing.
inline DType wideType(DType type) {
  return type == DType::BF16 || type == DType::F16 ? DType::F32 : type;
}

inline View viewOrNone(const Tensor& tensor) {
  return tensor.defined() ? viewOf(tensor) : View{};
}

inline std::string show(Extent extent) {
  return std::to_string(extent.height) + "×" + std::to_string(extent.width);
}

inline void checkPicture(const char* op, const Tensor& x) {
  if (x.rank() != 4)
    fail(op, "input " + x.shape().toString() + " must be [n,channels,height,width]");
  if (!isFloating(x.dtype()))
    fail(op, std::string("needs a floating type, not ") + name(x.dtype()));
}

}  // namespace lacuna::rt
