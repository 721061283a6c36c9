// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/widened.h"

#include "backend/cpu/onednn.h"

namespace lacuna::rt::cpu {

namespace {

using dnnl::memory;

void askForAProduct(memory::data_type type) {
  const memory::desc matrix({16, 16}, type, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc primitive({matrix, matrix, matrix}, library().engine);
}

void askForConvolutions(memory::data_type type) {
  constexpr auto kHow = dnnl::algorithm::convolution_direct;
  const memory::dims one{1, 1};
  const memory::desc picture({1, 16, 4, 4}, type, memory::format_tag::nhwc);
  const memory::desc weight({16, 16, 3, 3}, type, memory::format_tag::any);
  const dnnl::engine& engine = library().engine;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, kHow, picture, weight, picture, one, one, one}, engine);
  const dnnl::convolution_backward_data::primitive_desc data(
      {kHow, picture, weight, picture, one, one, one}, engine, forward);
  const dnnl::convolution_backward_weights::primitive_desc weights(
      {kHow, picture, weight, picture, one, one, one}, engine, forward);
}

/// The library knows best: it is asked for a small product and small convolutions.
bool libraryComputesIn(DType type) {
  try {
    askForAProduct(libraryType(type));
    askForConvolutions(libraryType(type));
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return false;
    throw;
  }
}

}  // namespace

bool isWidened(DType type) {
  if (!isShort(type)) return false;
  if (inPlainLoops()) return true;
  static const bool kBFloat16 = !libraryComputesIn(DType::BF16);
  static const bool kFloat16 = !libraryComputesIn(DType::F16);
  return type == DType::BF16 ? kBFloat16 : kFloat16;
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
  return {static_cast<std::byte*>(workspace_.data) + bytes_,
          {workspace_.shape.numel() - bytes},
          {1},
          DType::U8};
}

}  // namespace lacuna::rt::cpu
