// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <initializer_list>
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
inline bool containsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(text, part); });
}
inline bool containsAnyCase(std::string_view text, std::string_view part) {
  return findAnyCase(text, part) != std::string_view::npos;
}

}  // namespace lacuna::analyzer
