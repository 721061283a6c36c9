// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/text_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/prof/bounds.h"
#include "report/text_cells.h"

namespace lacuna::analyzer {
namespace {

/// The characters that fill a bar where there are no colours.
constexpr std::array<std::string_view, kCauseCount> kMarks{"█", "▓", "▒", "p", "s", "L", "d", "o", "h", "l", "w", "?"};

constexpr int kNarrowest = 40, kWidest = 200;

std::string withSingleSpaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

/// The beginning of a text, at most so wide and at least a character.
std::string_view firstColumns(std::string_view text, int width) {
  std::size_t end = 1;
  while (end < text.size() && columns(text.substr(0, end + 1)) <= std::max(1, width)) ++end;
  return text.substr(0, end);
}

/// "%", "ms", "GB/s", …, also before a comma or a bracket.
bool isUnit(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kUnits{"%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB"};
  word = word.substr(0, word.find_last_not_of(".,;:)") + 1);
  return std::ranges::find(kUnits, word) != kUnits.end() || word.ends_with("B/s") || word.ends_with("FLOP/s");
}

/// The length of the first word of a text; a number and its unit are one.
std::size_t firstWord(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (end == 0 || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::string_view rest = text.substr(end + 1);
  const std::string_view next = rest.substr(0, rest.find(' '));
  return isUnit(next) ? end + 1 + next.size() : end;
}

/// So many columns a kind of figure takes.
int widthOf(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::Count:
    case ColumnKind::Share:
    case ColumnKind::Number:
      return 8;
    case ColumnKind::Band:
      return TextPage::kBandWidth;
    case ColumnKind::Rate:
      return 12;
    default:
      return 11;
  }
}

bool isText(ColumnKind kind) {
  return kind == ColumnKind::Text || kind == ColumnKind::Name;
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
  std::string current(static_cast<std::size_t>(indent), ' ');
  bool empty = true;
  const auto next = [&] {
    line(styled(current, code));
    current.assign(static_cast<std::size_t>(hanging), ' ');
    empty = true;
  };
  while (!text.empty()) {
    const std::size_t space = firstWord(text);
    std::string_view word = text.substr(0, space);
    if (!empty && columns(current) + 1 + columns(word) > width_) next();
    // A name may be longer than a line.
    for (int room = width_ - columns(current); empty && columns(word) > room; room = width_ - columns(current)) {
      const std::string_view head = firstColumns(word, room);
      current += head;
      next();
      word.remove_prefix(head.size());
    }
    current += (empty ? "" : " ") + std::string(word);
    empty = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  line(styled(current, code));
}

void TextPage::wrappedBehind(std::string_view front, int columns, std::string_view text) {
  out_ += front;
  width_ -= columns;
  wrapped(text, 0, columns);
  width_ += columns;
}

void TextPage::lines(const std::vector<std::string>& all) {
  for (const std::string& text : all) line(std::string_view(text).substr(0, text.find_last_not_of(' ') + 1));
}

void TextPage::table(const Table& table, int rows) {
  constexpr int kShortestName = 12;
  std::vector<std::size_t> shown;
  int figures = 1;
  std::size_t texts = 0;
  for (const std::size_t i : table.shownColumns()) {
    const ColumnInfo& column = table.columns[i];
    const int more = isText(column.kind) ? 0 : 1 + widthOf(column.kind);
    if (more > 0 && figures + more + kShortestName > width_) continue;
    figures += more;
    texts += isText(column.kind) ? 1 : 0;
    shown.push_back(i);
  }
  const int nameWidth =
      (width_ - figures - static_cast<int>(texts)) / static_cast<int>(std::max<std::size_t>(1, texts)) + 1;
  const auto row = [&](auto&& cell) {
    std::string out;
    for (const std::size_t i : shown) {
      const ColumnKind kind = table.columns[i].kind;
      const std::string text = cell(i);
      out += ' ';
      if (isText(kind)) {
        out += padded(text, nameWidth);
      } else if (kind == ColumnKind::Band) {
        out += padded(text, kBandWidth);
      } else {
        out.append(static_cast<std::size_t>(std::max(0, widthOf(kind) - columns(text))), ' ');
        out += text;
      }
    }
    return out.substr(0, out.find_last_not_of(' ') + 1);
  };
  line(styled(row([&](std::size_t i) { return std::string(table.columns[i].heading); }), "2"));
  const std::size_t listed = std::min(table.rows.size(), static_cast<std::size_t>(std::max(0, rows)));
  for (std::size_t r = 0; r < listed; ++r) line(row([&](std::size_t i) { return table.text(r, i); }));
  if (table.rows.size() > listed) line(fmt::format("    and {} more", table.rows.size() - listed));
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
    const auto until = static_cast<int>(std::lround(static_cast<double>(sum) / static_cast<double>(total) * cells));
    std::string cellsText;
    for (; drawn < until; ++drawn) cellsText += mark(static_cast<Cause>(i));
    if (!cellsText.empty()) text += marked(static_cast<Cause>(i), cellsText);
  }
  line(text);
}

std::string TextPage::styled(std::string_view text, std::string_view code) const {
  return options_.colour && !code.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
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
