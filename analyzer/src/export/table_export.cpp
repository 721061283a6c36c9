// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>

#include "export/exporters.h"
#include "formats/json_text.h"
#include "lacuna/analyzer/text.h"
#include "store/backend.h"

namespace lacuna::analyzer {
namespace {

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The tables that there are instead.
std::string emptyTable(const Store& store, std::string_view name) {
  std::string others;
  for (std::size_t i = 0; i < prof::allTables().size(); ++i) {
    if (store.rows(i) > 0)
      others += fmt::format("{}{}", others.empty() ? "" : ", ", prof::allTables()[i].name);
  }
  return fmt::format("table {} has no rows; tables with rows: {}", name,
                     others.empty() ? "none" : others);
}

/// Calls line(row's columns) for every row of the table that the options name.
template <class Line>
prof::Status eachRow(const Store& store, ByteSink& sink, const ExportOptions& options,
                     Line&& line) {
  const auto table = tableNamed(options.table);
  if (!table) return table.status();
  const prof::TableSpec& spec = prof::allTables()[*table];
  std::vector<std::size_t> columns(spec.columnCount);
  std::iota(columns.begin(), columns.end(), 0U);
  const std::uint64_t total = store.rows(*table);
  if (total == 0 && options.warn) options.warn(emptyTable(store, options.table));
  bool cancelled = false;
  const auto status = store.scanTable(*table, columns, {}, [&](const RowBlock& block) {
    std::string out;
    for (std::uint64_t row = 0; row < block.rows; ++row) {
      out.clear();
      line(spec, block, row, out);
      sink.write(out);
    }
    const auto done = static_cast<double>(block.firstRow + block.rows);
    cancelled = options.progress && !options.progress(done / static_cast<double>(total));
    return !cancelled;
  });
  if (cancelled) return prof::Error{"the export was cancelled"};
  return status;
}

void appendText(std::string_view text, bool quoted, std::string& out) {
  quoted ? json::appendQuoted(out, text) : appendCsvText(out, text);
}

/// The text of an argument; its column holds a number's bits or a text's number. Lists and objects
/// stay one text, as they may span lines.
void appendArgument(const Store& store, prof::ArgType type, std::uint64_t bits, bool quoted,
                    std::string& out) {
  switch (type) {
    case prof::ArgType::Null:
      if (quoted) out += "null";
      return;
    case prof::ArgType::Bool:
      out += bits != 0 ? "true" : "false";
      return;
    case prof::ArgType::I64:
      fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(bits));
      return;
    case prof::ArgType::F64:
      if (quoted) return json::appendNumber(out, std::bit_cast<double>(bits));
      fmt::format_to(std::back_inserter(out), "{}", std::bit_cast<double>(bits));
      return;
    case prof::ArgType::Text:
    case prof::ArgType::Json:
      if (bits >= store.stringCount()) return appendText({}, quoted, out);
      return appendText(store.text(prof::StringId(static_cast<std::uint32_t>(bits))), quoted, out);
  }
  if (quoted) out += "null";
}

/// A column of a row.
void appendField(const Store& store, const prof::TableSpec& spec, const RowBlock& block,
                 std::uint64_t row, std::size_t column, bool quoted, std::string& out) {
  const auto at = [&](std::size_t c) {
    return block.columns[c] + row * widthOf(spec.columns[c].type);
  };
  if (spec.name == prof::Arg::kName && spec.columns[column].name == "value") {
    const auto* type = std::find_if(spec.columns, spec.columns + spec.columnCount,
                                    [](const prof::ColumnSpec& c) { return c.name == "type"; });
    const auto kind = read<prof::ArgType>(at(static_cast<std::size_t>(type - spec.columns)));
    return appendArgument(store, kind, read<std::uint64_t>(at(column)), quoted, out);
  }
  appendValue(store, spec.columns[column], at(column), quoted, out);
}

}  // namespace

prof::Result<std::size_t> tableNamed(std::string_view name) {
  std::string names;
  const auto tables = prof::allTables();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].name == name) return i;
    names += names.empty() ? "" : ", ";
    names += tables[i].name;
  }
  return prof::Error{fmt::format("no table is called {}; there are {}", name, names)};
}

void appendValue(const Store& store, const prof::ColumnSpec& spec, const std::byte* value,
                 bool quoted, std::string& out) {
  const auto number = [&](auto n) { fmt::format_to(std::back_inserter(out), "{}", n); };
  if (spec.refers == prof::Refers::String) {
    const std::string_view text = store.text(prof::StringId(read<std::uint32_t>(value)));
    return appendText(text, quoted, out);
  }
  switch (spec.type) {
    case prof::ColumnType::I64:
      return number(read<std::int64_t>(value));
    case prof::ColumnType::U64:
      return number(read<std::uint64_t>(value));
    case prof::ColumnType::I32:
      return number(read<std::int32_t>(value));
    case prof::ColumnType::U32:
      return number(read<std::uint32_t>(value));
    case prof::ColumnType::U16:
      return number(read<std::uint16_t>(value));
    case prof::ColumnType::U8:
      return number(read<std::uint8_t>(value));
    case prof::ColumnType::F64: {
      const double real = read<double>(value);
      if (quoted && !std::isfinite(real)) {
        out += "null";
        return;
      }
      return number(real);
    }
  }
}

prof::Status exportCsv(const Store& store, ByteSink& sink, const ExportOptions& options) {
  const auto table = tableNamed(options.table);
  if (!table) return table.status();
  const prof::TableSpec& header = prof::allTables()[*table];
  for (std::size_t c = 0; c < header.columnCount; ++c) {
    if (c > 0) sink.write(",");
    sink.write(header.columns[c].name);
  }
  sink.write("\n");
  return eachRow(
      store, sink, options,
      [&](const prof::TableSpec& spec, const RowBlock& block, std::uint64_t row, std::string& out) {
        for (std::size_t c = 0; c < spec.columnCount; ++c) {
          if (c > 0) out += ',';
          appendField(store, spec, block, row, c, false, out);
        }
        out += '\n';
      });
}

prof::Status exportTableJson(const Store& store, ByteSink& sink, const ExportOptions& options) {
  return eachRow(
      store, sink, options,
      [&](const prof::TableSpec& spec, const RowBlock& block, std::uint64_t row, std::string& out) {
        out += '{';
        for (std::size_t c = 0; c < spec.columnCount; ++c) {
          if (c > 0) out += ", ";
          out += '"';
          out += spec.columns[c].name;
          out += "\": ";
          appendField(store, spec, block, row, c, true, out);
        }
        out += "}\n";
      });
}

}  // namespace lacuna::analyzer
