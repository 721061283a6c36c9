// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/utf8.h"

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

std::string validUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8SequenceLength(text);
    out += length == 0 ? std::string_view("\uFFFD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string oneLine(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8SequenceLength(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F are controls as well.
    const bool isSecond = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    const bool isControl = first < 0x20 || first == 0x7f || isSecond;
    out += isControl ? std::string_view(" ") : length == 0 ? std::string_view("\uFFFD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string_view headOf(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  // A character has at most four bytes; what goes on for longer is no text.
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 3 && continues(end)) --end;
  return text.substr(0, continues(end) ? bytes : end);
}

}  // namespace lacuna::analyzer
