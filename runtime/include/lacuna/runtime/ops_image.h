// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/runtime/tensor.h"

/// Operators on pictures [n, channels, height, width]. On the CPU their results are channels last:
/// the channels of one pixel are neighbours in memory. Only strides() shows it; contiguous() gives
/// row-major order.
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
[[nodiscard]] Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                            Conv2dOptions options = {});

struct ConvTranspose2dOptions {
  Extent stride = 1, padding = 0, outputPadding = 0, dilation = 1;
  std::int64_t groups = 1;
};
/// The gradient of conv2d with respect to its input, as an operator: weight [in, out / groups, kh,
/// kw].
[[nodiscard]] Tensor convTranspose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                     ConvTranspose2dOptions options = {});

/// stride 0 means the window.
struct Pool2dOptions {
  Extent window = 2, stride = 0, padding = 0;
  bool countPadding = true;  ///< averages: whether padding counts as zeros
  bool ceilMode = false;  ///< also a last window that begins before the picture's end and reaches
                          ///< beyond the padding
};
[[nodiscard]] Tensor maxPool2d(const Tensor& x, Pool2dOptions options);
[[nodiscard]] Tensor avgPool2d(const Tensor& x, Pool2dOptions options);
/// Averages over windows that cut the picture into `size` as evenly as possible.
[[nodiscard]] Tensor adaptiveAvgPool2d(const Tensor& x, Extent size = 1);

enum class Interpolation : std::uint8_t { Nearest, Bilinear };
/// The picture at another size. Bilinear samples lie at the centres of pixels, or with
/// `alignCorners` the corner pixels of both pictures lie on one another.
[[nodiscard]] Tensor interpolate(const Tensor& x, Extent size,
                                 Interpolation mode = Interpolation::Nearest,
                                 bool alignCorners = false);

/// Padding of the upsampled picture; negative crops.
struct UpFirDnOptions {
  Extent up = 1, down = 1;
  Extent before = 0, after = 0;
};
/// Puts up - 1 zeros after each pixel, pads, filters rows and columns with `filter`, and keeps
/// every down-th pixel of both directions: StyleGAN2's resampling. No gradient for the filter.
[[nodiscard]] Tensor upFirDn2d(const Tensor& x, const std::vector<double>& filter,
                               UpFirDnOptions options = {});
/// upFirDn2d that keeps the size.
[[nodiscard]] Tensor blur2d(const Tensor& x, const std::vector<double>& filter);

}  // namespace lacuna::rt
