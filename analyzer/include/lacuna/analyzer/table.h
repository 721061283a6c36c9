// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// A report's tables as data. A column is declared once: JSON, CSV, the HTML page, the GUI and the
/// table of columns in the documentation follow from the declaration.
namespace lacuna::analyzer {

/// The way that people read the values of a column.
enum class ColumnKind : std::uint8_t {
  Text,
  Name,   ///< of a kernel, an operator, a range: may be long
  Count,  ///< a whole number
  Time,   ///< nanoseconds
  Bytes,
  Rate,    ///< bytes a second
  Share,   ///< 0 … 1; below 0: not known
  Number,  ///< with a decimal
  Band,    ///< nanoseconds that recording may have added to the column that `figure` names
  Flag,
};
std::string_view columnKindName(ColumnKind kind);

struct ColumnInfo {
  std::string_view key;      ///< in JSON and CSV: "total_ns"
  std::string_view heading;  ///< in tables for people; empty where those leave the column out
  ColumnKind kind = ColumnKind::Text;
  std::string_view meaning;      ///< for the documentation
  std::string_view figure = {};  ///< of a Band: the key of the column that it belongs to
  bool isOptional =
      false;  ///< tables for people leave it out where no row has more than an empty text or 0
};

using TextList = std::vector<std::string>;

/// Nothing where a row has no such value: JSON leaves the key out.
using TableCell =
    std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double, bool, TextList>;

struct Table {
  std::string_view key;    ///< for `--csv` and in SQL: "kernels"
  std::string_view about;  ///< which rows, in which order
  std::vector<ColumnInfo> columns;
  std::vector<std::vector<TableCell>> rows;
  bool isRecord = false;  ///< has one row, which JSON has as an object
  std::string
      place;  ///< the key in JSON; empty: the cells of a record stand in the object around it
  /// The tables that JSON has inside a row. It refers to the analysis that the table is of.
  std::function<std::vector<Table>(std::size_t row)> inside = {};

  [[nodiscard]] std::size_t columnOf(std::string_view key) const;
  /// The columns that tables for people have, of the first rows.
  [[nodiscard]] std::vector<std::size_t> shownColumns(std::size_t firstRows = SIZE_MAX) const;
  /// The value of a cell of numbers.
  [[nodiscard]] double number(std::size_t row, std::size_t column) const;
  /// A cell as people read it: "1.24 ms", "12.3 %", "±0.3 %"; empty where the value is not known.
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const;
};

/// A column with the way to its value.
template <class Row>
struct Column {
  ColumnInfo info;
  TableCell (*of)(const Row&) = nullptr;
};

template <class T>
TableCell cellOf(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, TextList>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return std::string(value);
  }
}

/// The way to a member, or to what a member function answers.
template <auto Member>
inline constexpr auto kValueOf = [](const auto& row) -> TableCell {
  if constexpr (std::is_member_function_pointer_v<decltype(Member)>) {
    return cellOf((row.*Member)());
  } else {
    return cellOf(row.*Member);
  }
};

template <class Row, std::size_t N, class Rows>
Table tableOf(std::string_view key, std::string_view about, const Column<Row> (&columns)[N],
              const Rows& rows) {
  Table table{.key = key, .about = about, .columns = {}, .rows = {}, .place = std::string(key)};
  for (const Column<Row>& column : columns) table.columns.push_back(column.info);
  for (const Row& row : rows) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    cells.reserve(N);
    for (const Column<Row>& column : columns) cells.push_back(column.of(row));
  }
  return table;
}

struct Analysis;

/// The texts as a JSON array, which CSV and SQL have in a cell.
std::string listJson(const TextList& texts);

/// All tables of all sections, and those inside of records. An empty analysis gives their columns.
std::vector<Table> reportTables(const Analysis& analysis);
/// One of them; empty where no section has such a table.
Table reportTable(const Analysis& analysis, std::string_view key);
/// With a line of the columns' keys.
std::string tableCsv(const Table& table);
/// The output of `lacuna report --list-sections`, and the tables of docs/report-json.md.
std::string sectionListText(int width);
std::string sectionListJson();
std::string sectionListMarkdown();

}  // namespace lacuna::analyzer
