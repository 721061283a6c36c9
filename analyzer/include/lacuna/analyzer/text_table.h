// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Tables and sentences for a terminal of any width.
namespace lacuna::analyzer {

/// Terminal columns of UTF-8 text, as all that is printed here is one column wide, and switching
/// colours none.
int columns(std::string_view text);
/// The lines of a text, of `first` and then `rest` columns. They break at blanks, and a number
/// stays with its unit. A word that is longer than a line breaks between its parts.
std::vector<std::string> brokenLines(std::string_view text, int first, int rest);

struct TextColumn {
  enum class Kind : std::uint8_t {
    Figure,  ///< ends below the end of its heading
    Band,    ///< of the figure before it, and left out with it
    Text,    ///< short, never broken
    Name,    ///< of a kernel, a file, …: shortened where a line has no room
    Path,    ///< a name whose end matters most: shortened in front
    Prose,   ///< as the last column: goes on in the lines below
  };

  std::string heading;
  Kind kind = Kind::Figure;
  /// Where a line has no room for all columns, those of the greatest rank are left out first. Those
  /// of rank 0 stay.
  int rank = 0;
};

/// Rows of text in columns that are as wide as their content. A column without content is left out.
/// Headings, figures and short texts are never cut: where a line is too narrow, columns are left
/// out, and then names are shortened.
class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  /// A cell for each column. Cells may switch colours, other than names and prose.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool isEmpty() const { return rows_.empty(); }

  struct Layout {
    std::string heading;  ///< empty where no column has one
    std::vector<std::string> rows;
    std::vector<std::string> leftOut;  ///< headings of the columns that have no room
    int wholeWidth = 0;                ///< of a terminal that has room for all columns
  };
  [[nodiscard]] Layout inColumns(int width) const;

 private:
  using Cells = std::vector<std::string>;

  [[nodiscard]] std::vector<int> contentWidths() const;
  [[nodiscard]] std::vector<std::size_t> filledColumns(const std::vector<int>& widths) const;
  [[nodiscard]] int leastWidth(const std::vector<std::size_t>& shown,
                               const std::vector<int>& widths) const;
  bool leaveOne(std::vector<std::size_t>& shown, bool isForced) const;
  void shareRoom(const std::vector<std::size_t>& shown, std::vector<int>& widths, int room) const;
  [[nodiscard]] bool isFlexible(std::size_t column) const;
  [[nodiscard]] int gapBefore(std::size_t column) const;
  [[nodiscard]] std::vector<std::string> linesOf(const std::vector<std::size_t>& shown,
                                                 const std::vector<int>& widths,
                                                 const Cells& cells) const;
  void shorten(std::size_t column, int width, std::vector<Cells>& rows) const;

  std::vector<TextColumn> columns_;
  std::vector<Cells> rows_;
};

}  // namespace lacuna::analyzer
