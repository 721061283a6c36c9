// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/markdown.h"

#include <algorithm>

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kLineWidth = 120;

std::size_t charactersOf(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string markdownItem(std::string_view text, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  std::string out = indent + "-";
  std::size_t column = charactersOf(out);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t width = charactersOf(word);
    if (column + 1 + width > kLineWidth) {
      out += "\n" + indent + " ";
      column = indent.size() + 1;
    }
    out += " ";
    out += word;
    column += 1 + width;
  }
  return out + "\n";
}

}  // namespace lacuna::analyzer
