// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::analyzer {
namespace {

std::int64_t wholeNumber(const TableCell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(*number, INT64_MAX));
  }
  return 0;
}

double numberOf(const TableCell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&cell)) return static_cast<double>(*value);
  return static_cast<double>(wholeNumber(cell));
}

void appendCsvCell(std::string& out, const TableCell& cell) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          appendCsvText(out, value);
        } else if constexpr (std::is_same_v<Value, TextList>) {
          appendCsvText(out, listJson(value));
        } else if constexpr (std::is_same_v<Value, std::monostate>) {
          return;
        } else if constexpr (std::is_same_v<Value, bool>) {
          appendCsvNumber(out, value ? "1" : "0");
        } else {
          appendCsvNumber(out, fmt::format("{}", value));
        }
      },
      cell);
}

/// Empty where the row has no such value.
std::string textOf(const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* texts = std::get_if<TextList>(&cell))
    return fmt::format("{}", fmt::join(*texts, ", "));
  return {};
}

}  // namespace

std::string listJson(const TextList& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += jsonText(text);
  }
  return out + ']';
}

std::string_view columnKindName(ColumnKind kind) {
  constexpr std::string_view kNames[]{"text",           "text",  "count",  "ns", "bytes",
                                      "bytes a second", "0 … 1", "number", "ns", "true or false"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t Table::columnOf(std::string_view key) const {
  const auto found = std::ranges::find(columns, key, &ColumnInfo::key);
  return static_cast<std::size_t>(found - columns.begin());
}

std::vector<std::size_t> Table::shownColumns(std::size_t firstRows) const {
  const std::size_t listed = std::min(firstRows, rows.size());
  const auto isEmpty = [&](std::size_t column) {
    for (std::size_t row = 0; row < listed; ++row) {
      if (!textOf(rows[row][column]).empty() || number(row, column) != 0) return false;
    }
    return true;
  };
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool canGo = columns[i].isOptional || columns[i].kind == ColumnKind::Band;
    if (!columns[i].heading.empty() && !(canGo && isEmpty(i))) shown.push_back(i);
  }
  return shown;
}

double Table::number(std::size_t row, std::size_t column) const {
  return numberOf(rows[row][column]);
}

std::string Table::text(std::size_t row, std::size_t column) const {
  const ColumnInfo& info = columns[column];
  const TableCell& cell = rows[row][column];
  if (std::holds_alternative<std::monostate>(cell)) return {};
  switch (info.kind) {
    case ColumnKind::Text:
    case ColumnKind::Name:
      return textOf(cell);
    case ColumnKind::Count:
      return std::to_string(wholeNumber(cell));
    case ColumnKind::Time:
      return prof::timeText(wholeNumber(cell));
    case ColumnKind::Bytes:
      return prof::bytesText(numberOf(cell));
    case ColumnKind::Rate:
      return numberOf(cell) > 0 ? prof::rateText(numberOf(cell)) : "";
    case ColumnKind::Share:
      return numberOf(cell) < 0 ? "" : prof::shareText(numberOf(cell));
    case ColumnKind::Number:
      return fmt::format("{:.1f}", numberOf(cell));
    case ColumnKind::Band:
      return humanBand(wholeNumber(cell), wholeNumber(rows[row][columnOf(info.figure)]));
    case ColumnKind::Flag:
      return std::get<bool>(cell) ? "yes" : "no";
  }
  return {};
}

std::string tableCsv(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) out += ',';
    appendCsvText(out, table.columns[i].key);
  }
  out += '\n';
  for (const std::vector<TableCell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += ',';
      appendCsvCell(out, row[i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace lacuna::analyzer
