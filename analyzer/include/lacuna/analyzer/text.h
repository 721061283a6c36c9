// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// Bytes of the valid UTF-8 sequence at the front of a text that is not empty; 0 when there is
/// none.
std::size_t utf8SequenceLength(std::string_view text);
/// The number of a character, from its valid sequence.
std::uint32_t codeOf(std::string_view sequence);
/// True for a character that a terminal obeys, or that changes what is around it unseen: control
/// characters, marks that turn the direction of text, line separators.
bool isUnseen(std::uint32_t code);
/// The text with U+FFFD in place of each byte that belongs to no valid sequence. Names in traces
/// are what programs gave.
std::string validUtf8(std::string_view text);
/// The text with escapes such as `\x1b` and `\u202e` in place of unseen characters and of bytes
/// that belong to no valid sequence.
std::string visibleText(std::string_view text);
/// The same with spaces in place of line ends and tabs: names may hold what breaks a line.
std::string oneLine(std::string_view text);
/// The beginning of a text in at most so many bytes, without half a character at its end.
std::string_view headOf(std::string_view text, std::size_t bytes);

/// Position of the part in the text at or after `from`, ASCII letters in either case; npos where it
/// is not there.
inline std::size_t findAnyCase(std::string_view text, std::string_view part, std::size_t from = 0) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  const std::string_view rest = text.substr(from);
  const auto found = std::search(rest.begin(), rest.end(), part.begin(), part.end(), same);
  if (found == rest.end() && !part.empty()) return std::string_view::npos;
  return from + static_cast<std::size_t>(found - rest.begin());
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
inline bool containsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(text, part); });
}
inline bool containsAnyCase(std::string_view text, std::string_view part) {
  return findAnyCase(text, part) != std::string_view::npos;
}
/// True when a name holds the pattern, in which '*' stands for anything; letters match in either
/// case.
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

/// A text as one line of XML 1.0 or HTML, within an element or an attribute in double quotes. Every
/// parser gives back oneLine(text), but for the characters that XML cannot hold in any form: these
/// become escapes such as `\ufffe`, too.
std::string xmlText(std::string_view text);

// Texts in the formats that results and exports are written in for other programs.

/// A text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD; what a terminal
/// obeys is escaped.
std::string jsonText(std::string_view text);

/// Appends a number, or what stands for none, as a field of a CSV file.
void appendCsvNumber(std::string& out, std::string_view number);
/// Appends a text as a field of a CSV file: quoted where a comma, a quote or a line end would break
/// it. Spreadsheets take a field for a formula that begins with = + - @, a tab or a line end: such
/// a text gets an apostrophe in front, unless it is a number.
void appendCsvText(std::string& out, std::string_view text);

}  // namespace lacuna::analyzer
