// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lacuna::analyzer {

/// True when the first and the last bytes of two texts of one length are the same, so many as a
/// Word has.
template <class Word>
bool startAndEndAlike(std::string_view a, std::string_view b) {
  Word start[2], end[2];
  std::memcpy(&start[0], a.data(), sizeof(Word));
  std::memcpy(&start[1], b.data(), sizeof(Word));
  std::memcpy(&end[0], a.data() + a.size() - sizeof(Word), sizeof(Word));
  std::memcpy(&end[1], b.data() + b.size() - sizeof(Word), sizeof(Word));
  return ((start[0] ^ start[1]) | (end[0] ^ end[1])) == 0;
}

/// True when two names are the same, without a call for the short ones: every event has a dozen of
/// those.
inline bool isSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() > 16)
    return startAndEndAlike<std::uint64_t>(a, b) && std::memcmp(a.data(), b.data(), a.size()) == 0;
  if (a.size() >= 8) return startAndEndAlike<std::uint64_t>(a, b);
  if (a.size() >= 4) return startAndEndAlike<std::uint32_t>(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace lacuna::analyzer
