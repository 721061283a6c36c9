// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/analyzer/text_table.h"

namespace lacuna::analyzer {

/// The text report while it is written: lines of at most a width. The bands of what recording added
/// have a column only where recording took any time.
class TextPage {
 public:
  TextPage(const Analysis& analysis, const ReportOptions& options);

  void line(std::string_view text = {});
  void title(std::string_view text);
  /// Over as many lines as it takes. `code`: the colour of each of the lines.
  void wrapped(std::string_view text, int indent, int hanging, std::string_view code = {});
  /// The same after a text of so many columns, in which the first line begins.
  void wrappedBehind(std::string_view front, int columns, std::string_view text);
  void lines(const std::vector<std::string>& all);
  /// The columns that have a heading, the first rows. As far as they fit, and with the number of
  /// the other rows.
  void table(const Table& table, int rows);
  /// Where the section was asked for, with the names of the columns that have no room.
  void table(const TextTable& table);
  /// Counts rows that are not shown, if any.
  void more(std::size_t count);
  void bar(const Ledger& ledger);

  [[nodiscard]] std::string styled(std::string_view text, std::string_view code) const;
  [[nodiscard]] std::string marked(Cause cause, std::string_view text) const;
  /// The character that stands for a cause in a bar.
  [[nodiscard]] std::string_view mark(Cause cause) const;
  /// The width of a column of "±0.3 %", and of one that follows a space, where the report has such
  /// columns.
  static constexpr int kBandWidth = 8;
  [[nodiscard]] int bandWidth() const;
  [[nodiscard]] std::string bandTitle() const;
  [[nodiscard]] std::string bandCell(std::int64_t bandNs, std::int64_t ns) const;
  [[nodiscard]] int width() const { return width_; }
  /// True when these sections were asked for; else this is the overview.
  [[nodiscard]] bool isAskedFor() const { return !options_.sections.empty(); }

  std::string take() { return std::move(out_); }

 private:
  const ReportOptions& options_;
  bool hasBands_;
  int width_;
  std::string out_;
};

}  // namespace lacuna::analyzer
