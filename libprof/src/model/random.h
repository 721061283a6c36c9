// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace lacuna::prof {

/// A small random generator whose sequence is ours to keep (xorshift-multiply, period 2^64): the
/// standard's distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed)
      : state_(seed * 0x9E37'79B9'7F4A'7C15u + 0x1234'5678'9ABC'DEF1u) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15u);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBu;
    return z ^ (z >> 31);
  }
  /// 0 … bound - 1
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// About normal: the sum of four uniform numbers, which has no tail beyond 3.5 sigma.
  double normal() {
    const std::uint64_t bits = next();
    const auto sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                         (bits >> 32 & 0xffff) + (bits >> 48));
    return (sum / 65536.0 - 2.0) * 1.7320508;
  }
  /// Multiplies by e^(sigma z).
  std::int64_t logNormalNs(double medianUs, double sigma) {
    return 1 + static_cast<std::int64_t>(medianUs * 1000.0 * std::exp(sigma * normal()));
  }

 private:
  std::uint64_t state_;
};

}  // namespace lacuna::prof
