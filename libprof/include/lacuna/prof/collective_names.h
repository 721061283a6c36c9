// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

/// PyTorch's names for collectives that a library of the host executes.
namespace lacuna::prof {

/// Names of collectives in the operators that begin them and in the libraries that execute them,
/// without the signs between the words. A name may hold a later one.
inline constexpr std::array<std::string_view, 11> kCollectiveKinds{
    "allreduce", "allgather", "alltoall", "reducescatter", "broadcast", "barrier",
    "gather",    "scatter",   "reduce",   "send",          "recv"};
inline constexpr std::size_t kNoCollective = kCollectiveKinds.size();

/// True when the name holds the word, whatever signs stand between its letters.
constexpr bool holdsWord(std::string_view name, std::string_view word) {
  for (std::size_t from = 0; from < name.size(); ++from) {
    std::size_t letters = 0;
    for (const char c : name.substr(from)) {
      if (c == '_' || c == ':') continue;
      if (letters == word.size() || c != word[letters]) break;
      ++letters;
    }
    if (letters == word.size()) return true;
  }
  return false;
}

/// The place in kCollectiveKinds: "c10d::_allgather_base_" and "gloo:all_gather" are both an
/// allgather. Allocates nothing.
constexpr std::size_t kindOfCollective(std::string_view name) {
  name.remove_prefix(name.find(':') + 1);
  std::size_t kind = 0;
  while (kind < kNoCollective && !holdsWord(name, kCollectiveKinds[kind])) ++kind;
  return kind;
}

}  // namespace lacuna::prof
