// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// Functions without branches or calls, which the compiler can vectorise, for f32; f64 takes the
/// library's. NaN, infinities, overflow and subnormal results are as in the library.
namespace lacuna::rt::cpu {

/// Relative error below 2e-7 wherever the result is a normal number.
[[gnu::always_inline]] inline float fastExp(float x) {
  constexpr float kLog2e = 1.44269504088896341F;
  constexpr float kRound =
      12582912.0F;  // 1.5 · 2^23: adding it leaves the rounded integer in the low bits
  const float clamped = std::min(std::max(x, -104.0F), 89.0F);
  const float shifted = clamped * kLog2e + kRound;
  const float n = shifted - kRound;
  // ln 2 in two parts, so that the rest keeps its digits
  const float r = (clamped - n * 0.693359375F) - n * -2.12194440e-4F;
  // (e^r - 1 - r) / r², interpolated at Chebyshev's points of |r| ≤ ln 2 / 2
  float p = 1.39261761e-3F;
  p = p * r + 8.36317307e-3F;
  p = p * r + 4.16665547e-2F;
  p = p * r + 1.66665770e-1F;
  p = p * r + 0.5F;
  p = p * r * r + r + 1.0F;
  // 2^n as two factors: neither overflows or is subnormal, even where the result is
  const std::int32_t exponent =
      std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const std::int32_t half = exponent >> 1;
  return p * std::bit_cast<float>((half + 127) << 23) *
         std::bit_cast<float>((exponent - half + 127) << 23);
}
inline double fastExp(double x) {
  return std::exp(x);
}

/// Relative error below 3e-7.
[[gnu::always_inline]] inline float fastErf(float x) {
  const float a = std::fabs(x);
  // erf(x) / x as a polynomial in x², interpolated on [0, 1]
  const float u = std::min(a, 1.0F) * std::min(a, 1.0F);
  float s = 7.87587505e-5F;
  s = s * u - 8.01686428e-4F;
  s = s * u + 5.18908742e-3F;
  s = s * u - 2.68542120e-2F;
  s = s * u + 1.12835947e-1F;
  s = s * u - 3.76126267e-1F;
  s = s * u + 1.12837917F;
  // -ln erfc(x) as a polynomial in x, interpolated on [1, 4]; erf(4) is 1 in f32
  const float t = std::min(a, 4.0F);
  float q = -1.63715141e-6F;
  q = q * t + 4.60580427e-5F;
  q = q * t - 5.96805626e-4F;
  q = q * t + 4.75959629e-3F;
  q = q * t - 2.64211360e-2F;
  q = q * t + 1.10080083e-1F;
  q = q * t + 6.31826052e-1F;
  q = q * t + 1.13023343F;
  q = q * t - 3.20138052e-4F;
  const float large = std::copysign(1.0F - fastExp(-q), x);
  return a < 1.0F ? x * s : large;
}
inline double fastErf(double x) {
  return std::erf(x);
}

}  // namespace lacuna::rt::cpu
