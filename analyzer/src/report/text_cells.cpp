// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/text_cells.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

std::size_t commonPrefix(std::string_view a, std::string_view b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(differ - a.begin());
}

/// Letters, digits and the bytes of what is no ASCII.
bool isPartOfWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

}  // namespace

int columns(std::string_view text) {
  int count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\x1b[")) {
      i = std::min(text.find('m', i), text.size());
    } else {
      count += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 ? 1 : 0;
    }
  }
  return count;
}

std::string shortened(std::string_view name, int width) {
  const std::string text = oneLine(name);
  if (columns(text) <= width) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size() && width > 1;) {
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
    out.append(text, i, next - i);
    i = next;
    --width;
  }
  return out + "…";
}

std::string padded(std::string_view text, int width) {
  std::string out = shortened(text, width);
  out.append(static_cast<std::size_t>(std::max(0, width - columns(out))), ' ');
  return out;
}

std::vector<std::string> paddedNames(const std::vector<std::string_view>& names, int width) {
  std::vector<std::string> texts, out;
  std::map<std::string, std::vector<std::size_t>> alike;  // those that do not fit, by how they begin
  for (const std::string_view name : names) {
    texts.push_back(columns(name) <= width ? oneLine(name) : oneLine(withoutScopes(name)));
    out.push_back(padded(texts.back(), width));
    if (columns(texts.back()) > width) alike[shortened(texts.back(), width * 3 / 4)].push_back(texts.size() - 1);
  }
  for (const auto& [begin, members] : alike) {
    std::string_view common = texts[members.front()];
    for (const std::size_t at : members) common = common.substr(0, commonPrefix(common, texts[at]));
    // The word in which they differ is shown whole.
    while (!common.empty() && isPartOfWord(common.back())) common.remove_suffix(1);
    if (members.size() < 2 || columns(common) <= width / 3) continue;
    for (const std::size_t at : members) {
      const std::string rest = texts[at].substr(common.size());
      if (!rest.empty()) out[at] = padded(shortened(texts[at], width / 3) + rest, width);
    }
  }
  return out;
}

}  // namespace lacuna::analyzer
