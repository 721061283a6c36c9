// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace lacuna::analyzer {

/// Where the text has the part at or behind `from`, ASCII letters in either case; npos where it has not.
inline std::size_t findAnyCase(std::string_view text, std::string_view part, std::size_t from = 0) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  const std::string_view rest = text.substr(from);
  const auto found = std::search(rest.begin(), rest.end(), part.begin(), part.end(), same);
  if (found == rest.end() && !part.empty()) return std::string_view::npos;
  return from + static_cast<std::size_t>(found - rest.begin());
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
inline bool containsAnyCase(std::string_view text, std::string_view part) {
  return findAnyCase(text, part) != std::string_view::npos;
}

}  // namespace lacuna::analyzer
