// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
std::size_t utf8SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

std::uint32_t codeOf(std::string_view sequence) {
  const auto byte = [&](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(sequence[i])};
  };
  if (sequence.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xffU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) code = code << 6 | (byte(i) & 0x3f);
  return code;
}

bool isUnseen(std::uint32_t code) {
  const bool isControl = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool isMark = code == 0x61c || code == 0x200e || code == 0x200f;
  // The two line separators stand before the embeddings and overrides.
  return isControl || isMark || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string validUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8SequenceLength(text);
    out += length == 0 ? std::string_view("\uFFFD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string visibleText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8SequenceLength(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    const std::uint32_t code =
        length == 0 ? static_cast<unsigned char>(text[0]) : codeOf(character);
    if (length > 0 && !isUnseen(code)) {
      out += character;
    } else {
      out += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string oneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return visibleText(line);
}

std::string_view headOf(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  // A character has at most four bytes; what goes on for longer is no text.
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 3 && continues(end)) --end;
  return text.substr(0, continues(end) ? bytes : end);
}

}  // namespace lacuna::analyzer
