// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/tensor.h"

/// Operators on pictures [n, channels, height, width]. On the CPU their results are channels last: the channels of one
/// pixel are neighbours in memory. That shows in strides() alone; contiguous() gives row-major order.
namespace lacuna::rt {

/// A height and a width; one number means both.
struct Extent {
  std::int64_t height, width;
  // NOLINTNEXTLINE(google-explicit-constructor): so that `.stride = 2` reads well
  Extent(std::int64_t both) : height(both), width(both) {}
  Extent(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct Conv2dOptions {
  Extent stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;
};
/// weight [out, in / groups, kh, kw]; bias [out] may be undefined.
[[nodiscard]] Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Conv2dOptions options = {});

struct ConvTranspose2dOptions {
  Extent stride = 1, padding = 0, outputPadding = 0, dilation = 1;
  std::int64_t groups = 1;
};
/// The gradient of conv2d with respect to its input, as an operator: weight [in, out / groups, kh, kw].
[[nodiscard]] Tensor convTranspose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                     ConvTranspose2dOptions options = {});

/// stride 0 means the window.
struct Pool2dOptions {
  Extent window = 2, stride = 0, padding = 0;
  bool countPadding = true;  ///< averages: whether padding counts as zeros
};
[[nodiscard]] Tensor maxPool2d(const Tensor& x, Pool2dOptions options);
[[nodiscard]] Tensor avgPool2d(const Tensor& x, Pool2dOptions options);
/// Averages over windows that cut the picture into `size` as evenly as possible.
[[nodiscard]] Tensor adaptiveAvgPool2d(const Tensor& x, Extent size = 1);

}  // namespace lacuna::rt
