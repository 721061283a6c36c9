// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/text_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"
#include "report/text_cells.h"

namespace lacuna::analyzer {
namespace {

/// The characters that fill a bar where there are no colours.
constexpr std::array<std::string_view, kCauseCount> kMarks{"█", "▓", "▒", "p", "s", "L",
                                                           "d", "o", "h", "l", "w", "?"};

constexpr int kNarrowest = 40, kWidest = 200;

std::string withSingleSpaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

TextColumn::Kind kindOf(ColumnKind kind) {
  if (kind == ColumnKind::Name) return TextColumn::Kind::Name;
  if (kind == ColumnKind::Band) return TextColumn::Kind::Band;
  return kind == ColumnKind::Text ? TextColumn::Kind::Text : TextColumn::Kind::Figure;
}

}  // namespace

TextPage::TextPage(const Analysis& analysis, const ReportOptions& options)
    : options_(options),
      hasBands_(analysis.ledgers.bands.run.totalNs() > 0),
      width_(std::clamp(options.width, kNarrowest, kWidest)) {}

void TextPage::line(std::string_view text) {
  if (columns(text) > width_) {
    // The cells of a table go below each other, a little further in.
    const auto indent = static_cast<int>(std::min(text.find_first_not_of(' '), text.size()));
    return wrapped(withSingleSpaces(text), indent, indent + 2);
  }
  out_ += text;
  out_ += '\n';
}

void TextPage::title(std::string_view text) {
  line();
  line(styled(text, "1"));
}

void TextPage::wrapped(std::string_view text, int indent, int hanging, std::string_view code) {
  for (const std::string& part : brokenLines(text, width_ - indent, width_ - hanging)) {
    line(styled(std::string(static_cast<std::size_t>(indent), ' ') + part, code));
    indent = hanging;
  }
}

void TextPage::wrappedBehind(std::string_view front, int columns, std::string_view text) {
  out_ += front;
  width_ -= columns;
  wrapped(text, 0, columns);
  width_ += columns;
}

void TextPage::lines(const std::vector<std::string>& all) {
  for (const std::string& text : all)
    line(std::string_view(text).substr(0, text.find_last_not_of(' ') + 1));
}

void TextPage::table(const Table& table, int rows) {
  std::vector<std::size_t> shown = table.shownColumns();
  std::vector<TextColumn> columns;
  for (const std::size_t i : shown) {
    const ColumnInfo& column = table.columns[i];
    columns.push_back(
        {std::string(column.heading), kindOf(column.kind), static_cast<int>(columns.size())});
  }
  TextTable text(std::move(columns));
  const std::size_t listed =
      std::min(table.rows.size(), static_cast<std::size_t>(std::max(0, rows)));
  for (std::size_t row = 0; row < listed; ++row) {
    std::vector<std::string> cells;
    for (const std::size_t column : shown) cells.push_back(oneLine(table.text(row, column)));
    text.add(std::move(cells));
  }
  this->table(text);
  more(table.rows.size() - listed);
}

void TextPage::table(const TextTable& table) {
  const TextTable::Layout layout = table.inColumns(width_);
  if (!layout.heading.empty()) line(styled(layout.heading, "2"));
  for (const std::string& row : layout.rows) line(row);
  if (layout.leftOut.empty() || !isAskedFor()) return;
  wrapped(
      fmt::format("with --width {} also: {}", layout.wholeWidth, fmt::join(layout.leftOut, ", ")),
      1, 3, "2");
}

void TextPage::more(std::size_t count) {
  if (count > 0) line(fmt::format("    and {} more", count));
}

void TextPage::bar(const Ledger& ledger) {
  const std::int64_t total = ledger.totalNs();
  if (total <= 0) return;
  const int cells = width_ - 2;
  std::string text = " ";
  std::int64_t sum = 0;
  int drawn = 0;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    prof::addTo(sum, ledger.ns[i]);
    const auto until = static_cast<int>(
        std::lround(static_cast<double>(sum) / static_cast<double>(total) * cells));
    std::string cellsText;
    for (; drawn < until; ++drawn) cellsText += mark(static_cast<Cause>(i));
    if (!cellsText.empty()) text += marked(static_cast<Cause>(i), cellsText);
  }
  line(text);
}

std::string TextPage::styled(std::string_view text, std::string_view code) const {
  return options_.colour && !code.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text)
                                          : std::string(text);
}
std::string TextPage::marked(Cause cause, std::string_view text) const {
  return styled(text, fmt::format("38;5;{}", terminalColour(cause)));
}
std::string_view TextPage::mark(Cause cause) const {
  return options_.colour ? "█" : kMarks[static_cast<std::size_t>(cause)];
}

int TextPage::bandWidth() const {
  return hasBands_ ? kBandWidth + 1 : 0;
}
std::string TextPage::bandTitle() const {
  return hasBands_ ? padded("±", kBandWidth + 1) : "";
}
std::string TextPage::bandCell(std::int64_t bandNs, std::int64_t ns) const {
  return hasBands_ ? padded(humanBand(bandNs, ns), kBandWidth + 1) : "";
}

}  // namespace lacuna::analyzer
