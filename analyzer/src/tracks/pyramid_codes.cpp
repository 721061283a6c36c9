// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tracks/pyramid_codes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

namespace lacuna::analyzer {
namespace {

template <class T>
std::array<T, 256> decodeTable() {
  std::array<T, 256> table{};
  for (int code = 1; code < 256; ++code) {
    const int octave = std::min((code - 1) / 4, 62);
    const double middle = octave > 2 ? 0.5 : 0.0;
    table[static_cast<std::size_t>(code)] =
        static_cast<T>(std::ldexp(1 + ((code - 1) % 4 + middle) / 4, octave));
  }
  return table;
}

const std::array<float, 256> kLengths = decodeTable<float>();
const std::array<std::uint64_t, 256> kCounts = decodeTable<std::uint64_t>();

}  // namespace

std::uint8_t logCode(std::uint64_t value) {
  if (value == 0) return 0;
  const int octave = std::bit_width(value) - 1;
  const auto quarter = octave >= 2 ? (value >> (octave - 2)) & 3 : (value << (2 - octave)) & 3;
  return static_cast<std::uint8_t>(1 + 4 * octave + static_cast<int>(quarter));
}

float lengthOf(unsigned code) {
  return kLengths[code];
}

std::uint64_t countOf(unsigned code) {
  return kCounts[code];
}

}  // namespace lacuna::analyzer
