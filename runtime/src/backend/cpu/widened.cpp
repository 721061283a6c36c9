// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/widened.h"

#include "backend/cpu/onednn.h"

namespace lacuna::rt::cpu {

namespace {

/// The library knows best: it is asked for a small product.
bool libraryMultiplies(DType type) {
  const dnnl::memory::desc matrix({16, 16}, libraryType(type), dnnl::memory::format_tag::ab);
  try {
    const dnnl::matmul::primitive_desc primitive({matrix, matrix, matrix}, library().engine);
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return false;
    throw;
  }
}

}  // namespace

bool isWidened(DType type) {
  if (type != DType::BF16) return false;
  if (inPlainLoops()) return true;
  static const bool kWidened = !libraryMultiplies(DType::BF16);
  return kWidened;
}

Widening::Widening(const View& workspace) : workspace_(workspace) {}

View Widening::add(const Shape& shape, const Shape& strides) {
  std::int64_t last = 0;
  for (int d = 0; d < shape.rank(); ++d) last += (shape[d] - 1) * strides[d];
  View wide{nullptr, shape, strides, DType::F32};
  if (workspace_.data != nullptr) wide.data = static_cast<std::byte*>(workspace_.data) + bytes_;
  bytes_ += roundedToLines(static_cast<std::size_t>(last + 1) * sizeof(float));
  if (workspace_.data != nullptr && bytes_ > static_cast<std::size_t>(workspace_.shape.numel()))
    throw Error("the workspace is too small for operands in f32");
  return wide;
}

View Widening::rest() const {
  if (workspace_.data == nullptr) return {};
  const auto bytes = static_cast<std::int64_t>(bytes_);
  return {static_cast<std::byte*>(workspace_.data) + bytes_, {workspace_.shape.numel() - bytes}, {1}, DType::U8};
}

}  // namespace lacuna::rt::cpu
