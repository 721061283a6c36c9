// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The codes that keep a lane's lengths, counts and covered shares in few bits of its pyramid.
namespace lacuna::analyzer {

/// A sixteenth's code is 0 for nothing, 1 for next to nothing, and 1 more for each step of covered
/// share.
inline constexpr unsigned kPartBits = 4;
inline constexpr double kPartSteps = 14;
inline constexpr std::uint64_t kPartMask = 0xF;

/// Four codes an octave: 0 for 0, exact up to 7, within an eighth above.
std::uint8_t logCode(std::uint64_t value);
/// The middle of the values that have a code.
float lengthOf(unsigned code);
std::uint64_t countOf(unsigned code);

/// The codes of the first `count` sixteenths, and the others 0.
inline std::uint64_t firstParts(std::uint64_t codes, unsigned count) {
  return kPartBits * count == 64 ? codes : codes & ((std::uint64_t{1} << (kPartBits * count)) - 1);
}

/// Steps of covered share in sixteenths with these codes.
inline unsigned stepsIn(std::uint64_t codes) {
  constexpr std::uint64_t kEven = 0x0F0F0F0F0F0F0F0F;
  constexpr std::uint64_t kBytes = 0x0101010101010101;
  const std::uint64_t any = (codes | codes >> 1 | codes >> 2 | codes >> 3) & 0x1111111111111111;
  const std::uint64_t pairs = (codes & kEven) + (codes >> 4 & kEven);
  const std::uint64_t touched = (any & kEven) + (any >> 4 & kEven);
  return static_cast<unsigned>((pairs * kBytes) >> 56) -
         static_cast<unsigned>((touched * kBytes) >> 56);
}

}  // namespace lacuna::analyzer
