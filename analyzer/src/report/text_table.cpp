// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/text_table.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "lacuna/analyzer/text.h"
#include "report/text_cells.h"

namespace lacuna::analyzer {
namespace {

/// A name of so many columns has a meaning; a column of lesser rank gives way to it.
constexpr int kShortestName = 24;
constexpr int kLongestText = 32;
constexpr int kGap = 2;

/// "%", "ms", "GB/s", …, also before a comma or a bracket.
bool isUnit(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kUnits{"%", "ns",  "µs",  "ms", "s",
                                                          "B", "KiB", "MiB", "GiB"};
  word = word.substr(0, word.find_last_not_of(".,;:)") + 1);
  return std::ranges::find(kUnits, word) != kUnits.end() || word.ends_with("B/s") ||
         word.ends_with("FLOP/s");
}

/// The length of the first word of a text; a number and its unit are one.
std::size_t firstWord(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (end == 0 || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::string_view rest = text.substr(end + 1);
  const std::string_view next = rest.substr(0, rest.find(' '));
  return isUnit(next) ? end + 1 + next.size() : end;
}

std::string toTheLeft(std::string text, int width) {
  text.append(static_cast<std::size_t>(std::max(0, width - columns(text))), ' ');
  return text;
}

std::string toTheRight(const std::string& text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - columns(text))), ' ') + text;
}

std::string withoutTrailingBlanks(std::string text) {
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::vector<std::string> brokenLines(std::string_view text, int first, int rest) {
  std::vector<std::string> lines(1);
  const auto room = [&] {
    return std::max(1, lines.size() == 1 ? first : rest) - columns(lines.back());
  };
  while (!text.empty()) {
    const std::size_t length = firstWord(text);
    std::string_view word = text.substr(0, length);
    if (!lines.back().empty() && 1 + columns(word) > room()) lines.emplace_back();
    // A name may be longer than a line.
    while (lines.back().empty() && columns(word) > room()) {
      const std::string_view part = firstParts(word, room(), 0.5);
      lines.back() = part;
      word.remove_prefix(part.size());
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

std::string paragraph(std::string_view text, int indent, int hanging, int width) {
  std::string out;
  for (const std::string& line : brokenLines(text, width - indent, width - hanging)) {
    out.append(static_cast<std::size_t>(out.empty() ? indent : hanging), ' ')
        .append(line)
        .append("\n");
  }
  return out;
}

bool TextTable::isFlexible(std::size_t column) const {
  using Kind = TextColumn::Kind;
  const Kind kind = columns_[column].kind;
  return kind == Kind::Name || kind == Kind::Path || kind == Kind::Prose;
}

int TextTable::gapBefore(std::size_t column) const {
  return columns_[column].kind == TextColumn::Kind::Band ? 1 : kGap;
}

std::vector<int> TextTable::contentWidths() const {
  std::vector<int> widths(columns_.size(), 0);
  for (const Cells& cells : rows_) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      widths[i] = std::max(widths[i], columns(isFlexible(i) ? oneLine(cells[i]) : cells[i]));
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].kind == TextColumn::Kind::Text) widths[i] = std::min(widths[i], kLongestText);
    if (widths[i] > 0) widths[i] = std::max(widths[i], columns(columns_[i].heading));
  }
  return widths;
}

std::vector<std::size_t> TextTable::filledColumns(const std::vector<int>& widths) const {
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), 0);
  std::erase_if(shown, [&](std::size_t column) { return widths[column] == 0; });
  return shown;
}

/// The width of a line whose names are as short as they may be.
int TextTable::leastWidth(const std::vector<std::size_t>& shown,
                          const std::vector<int>& widths) const {
  int sum = shown.empty() ? 0 : 1 - gapBefore(shown.front());
  for (const std::size_t column : shown) {
    const int least = std::max(kShortestName, columns(columns_[column].heading));
    sum +=
        gapBefore(column) + (isFlexible(column) ? std::min(widths[column], least) : widths[column]);
  }
  return sum;
}

/// Leaves out the column of the greatest rank, with its band. Forced, it takes the last one where
/// all have to stay.
bool TextTable::leaveOne(std::vector<std::size_t>& shown, bool isForced) const {
  if (shown.size() < 2) return false;
  auto chosen = std::max_element(shown.begin() + 1, shown.end(), [&](std::size_t a, std::size_t b) {
    return columns_[a].rank < columns_[b].rank || (columns_[a].rank == columns_[b].rank && a < b);
  });
  if (columns_[*chosen].rank == 0 && !isForced) return false;
  const auto behind = chosen + 1;
  const bool hasBand = behind != shown.end() && columns_[*behind].kind == TextColumn::Kind::Band;
  shown.erase(chosen, hasBand ? behind + 1 : behind);
  return true;
}

/// Cuts the flexible columns to what the others leave of a line, the widest ones first.
void TextTable::shareRoom(const std::vector<std::size_t>& shown, std::vector<int>& widths,
                          int room) const {
  std::vector<std::size_t> flexible;
  room -= shown.empty() ? 0 : 1 - gapBefore(shown.front());
  for (const std::size_t column : shown) {
    room -= gapBefore(column) + (isFlexible(column) ? 0 : widths[column]);
    if (isFlexible(column)) flexible.push_back(column);
  }
  std::ranges::sort(flexible, {}, [&](std::size_t column) { return widths[column]; });
  for (auto left = static_cast<int>(flexible.size()); const std::size_t column : flexible) {
    widths[column] = std::max(1, std::min(widths[column], room / left--));
    room -= widths[column];
  }
}

/// The cells of a column as they fit into its width.
void TextTable::shorten(std::size_t column, int width, std::vector<Cells>& rows) const {
  using Kind = TextColumn::Kind;
  const Kind kind = columns_[column].kind;
  if (kind == Kind::Name) {
    std::vector<std::string_view> names;
    for (const Cells& cells : rows_) names.emplace_back(cells[column]);
    std::vector<std::string> fitting = paddedNames(names, width);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i][column] = std::move(fitting[i]);
  } else if (kind == Kind::Text || kind == Kind::Path) {
    for (Cells& cells : rows) {
      std::string& cell = cells[column];
      if (columns(cell) > width)
        cell = kind == Kind::Path ? shortenedInFront(cell, width) : shortened(cell, width);
    }
  }
}

std::vector<std::string> TextTable::linesOf(const std::vector<std::size_t>& shown,
                                            const std::vector<int>& widths,
                                            const Cells& cells) const {
  std::string line;
  std::vector<std::string> below;
  for (const std::size_t column : shown) {
    line.append(static_cast<std::size_t>(line.empty() ? 1 : gapBefore(column)), ' ');
    const TextColumn::Kind kind = columns_[column].kind;
    if (kind == TextColumn::Kind::Prose) {
      const auto indent = static_cast<std::size_t>(columns(line));
      below = brokenLines(cells[column], widths[column], widths[column]);
      line += below.front();
      below.erase(below.begin());
      for (std::string& text : below) text.insert(0, indent, ' ');
    } else {
      line += kind == TextColumn::Kind::Figure ? toTheRight(cells[column], widths[column])
                                               : toTheLeft(cells[column], widths[column]);
    }
  }
  below.insert(below.begin(), withoutTrailingBlanks(std::move(line)));
  return below;
}

TextTable::Layout TextTable::inColumns(int width) const {
  std::vector<int> widths = contentWidths();
  const std::vector<std::size_t> all = filledColumns(widths);
  std::vector<std::size_t> shown = all;
  while (leastWidth(shown, widths) > width && leaveOne(shown, false)) {
  }
  const auto narrowest = [&] {
    std::vector<int> least = widths;
    shareRoom(shown, least, 0);
    return leastWidth(shown, least);
  };
  while (narrowest() > width && leaveOne(shown, true)) {
  }
  Layout layout;
  layout.wholeWidth = leastWidth(all, widths);
  shareRoom(shown, widths, width);

  Cells headings;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    headings.push_back(isFlexible(i) ? shortened(columns_[i].heading, widths[i])
                                     : columns_[i].heading);
  layout.heading = linesOf(shown, widths, headings).front();
  std::vector<Cells> rows = rows_;
  for (const std::size_t column : shown) shorten(column, widths[column], rows);
  for (const Cells& cells : rows) {
    for (std::string& line : linesOf(shown, widths, cells)) layout.rows.push_back(std::move(line));
  }
  for (const std::size_t column : all) {
    const bool isBand = columns_[column].kind == TextColumn::Kind::Band;
    if (!isBand && std::ranges::find(shown, column) == shown.end())
      layout.leftOut.push_back(columns_[column].heading);
  }
  return layout;
}

}  // namespace lacuna::analyzer
