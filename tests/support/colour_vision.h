// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// The distance of colours to eyes of all kinds.
namespace lacuna::test {

/// The distance that eyes see at a glance, in CIE 1976 units; 2.3 is the least that is seen at all.
inline constexpr double kApart = 9;

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

/// The linear value of the channel in the lowest byte: of 0xRRGGBB, or of it shifted.
inline double linearChannel(std::uint32_t channel) {
  const double v = (channel & 0xFF) / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

/// A colour as eyes see it that lack one kind of cone: Machado, Oliveira and Fernandes (2009), full
/// severity.
inline Triple seen(std::uint32_t colour, const Matrix& eyes) {
  const Triple rgb{linearChannel(colour >> 16), linearChannel(colour >> 8), linearChannel(colour)};
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) out[i] += eyes[i][k] * rgb[k];
    out[i] = std::clamp(out[i], 0.0, 1.0);
  }
  return out;
}

inline Triple lab(const Triple& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.9505);
  const double y = f(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// The distance to those of all eyes (usual ones, and each kind of cone missing) that distinguish
/// them worst.
inline double distance(std::uint32_t a, std::uint32_t b) {
  static constexpr Matrix kEyes[] = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                     {{{0.152286, 1.052583, -0.204868},
                                       {0.114503, 0.786281, 0.099216},
                                       {-0.003882, -0.048116, 1.051998}}},
                                     {{{0.367322, 0.860646, -0.227968},
                                       {0.280085, 0.672501, 0.047413},
                                       {-0.011820, 0.042940, 0.968881}}},
                                     {{{1.255528, -0.076749, -0.178779},
                                       {-0.078411, 0.930809, 0.147602},
                                       {0.004733, 0.691367, 0.303900}}}};
  double least = 1e9;
  for (const Matrix& eyes : kEyes) {
    const Triple one = lab(seen(a, eyes));
    const Triple two = lab(seen(b, eyes));
    least = std::min(least, std::hypot(one[0] - two[0], one[1] - two[1], one[2] - two[2]));
  }
  return least;
}

}  // namespace lacuna::test
