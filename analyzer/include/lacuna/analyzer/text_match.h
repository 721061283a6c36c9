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
/// Whether a name holds the pattern, in which '*' stands for anything; letters match in either case.
inline bool matchesPattern(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  while (!pattern.empty()) {
    const std::size_t star = std::min(pattern.find('*'), pattern.size());
    const std::string_view part = pattern.substr(0, star);
    const std::size_t found = findAnyCase(name, part, at);
    if (found == std::string_view::npos) return false;
    at = found + part.size();
    pattern.remove_prefix(std::min(star + 1, pattern.size()));
  }
  return true;
}

}  // namespace lacuna::analyzer
