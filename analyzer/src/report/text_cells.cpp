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

bool isBetweenParts(char before, char after) {
  if (!isPartOfWord(before) || !isPartOfWord(after)) return true;
  return std::islower(static_cast<unsigned char>(before)) != 0 &&
         std::isupper(static_cast<unsigned char>(after)) != 0;
}

/// The beginning of a text of one line, without styles, at most so wide.
std::string_view firstColumns(std::string_view text, int width) {
  std::size_t end = 0;
  for (; end < text.size() && width > 0; --width) {
    do ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  }
  return text.substr(0, end);
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

std::string_view firstParts(std::string_view text, int width, double least) {
  const std::string_view most = firstColumns(text, std::max(1, width));
  if (most.size() == text.size()) return most;
  const auto from = static_cast<std::size_t>(least * static_cast<double>(most.size()));
  for (std::size_t end = most.size(); end > from; --end) {
    if (isBetweenParts(text[end - 1], text[end])) return most.substr(0, end);
  }
  return most;
}

std::string shortened(std::string_view name, int width) {
  const std::string text = oneLine(name);
  if (columns(text) <= width) return text;
  if (width < 2) return "…";
  std::string_view head = firstParts(text, width - 1, 0.75);
  head = head.substr(0, head.find_last_not_of(' ') + 1);
  return std::string(head) + "…";
}

std::string shortenedInFront(std::string_view name, int width) {
  const std::string text = oneLine(name);
  const int surplus = columns(text) - std::max(1, width) + 1;
  if (surplus <= 1) return text;
  std::string_view rest = std::string_view(text).substr(firstColumns(text, surplus).size());
  for (std::size_t at = 1; 4 * at < rest.size(); ++at) {
    if (!isBetweenParts(rest[at - 1], rest[at]) || rest[at] == ' ') continue;
    rest.remove_prefix(at);
    break;
  }
  return "…" + std::string(rest);
}

std::string padded(std::string_view text, int width) {
  std::string out = shortened(text, width);
  out.append(static_cast<std::size_t>(std::max(0, width - columns(out))), ' ');
  return out;
}

std::vector<std::string> paddedNames(const std::vector<std::string_view>& names, int width) {
  std::vector<std::string> texts, out;
  std::map<std::string, std::vector<std::size_t>>
      alike;  // those that do not fit, by what is left of them
  for (const std::string_view name : names) {
    texts.push_back(columns(name) <= width ? oneLine(name) : oneLine(withoutScopes(name)));
    out.push_back(padded(texts.back(), width));
    if (columns(texts.back()) > width) alike[out.back()].push_back(texts.size() - 1);
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
