// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "export/exporters.h"
#include "store/backend.h"
#include "store/json_text.h"

namespace lacuna::analyzer {
namespace {

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A field of a CSV file: quoted where a comma, a quote or a line end would break it.
void appendCsv(std::string_view text, std::string& out) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

/// Calls line(row's columns) for every row of the table that the options name.
template <class Line>
prof::Status eachRow(const Store& store, ByteSink& sink, const ExportOptions& options, Line&& line) {
  const auto table = tableNamed(options.table);
  if (!table) return table.status();
  const prof::TableSpec& spec = prof::allTables()[*table];
  std::vector<std::size_t> columns(spec.columnCount);
  std::iota(columns.begin(), columns.end(), 0U);
  const std::uint64_t total = store.rows(*table);
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

void appendValue(const Store& store, const prof::ColumnSpec& spec, const std::byte* value, bool quoted,
                 std::string& out) {
  const auto number = [&](auto n) { fmt::format_to(std::back_inserter(out), "{}", n); };
  if (spec.refers == prof::Refers::String) {
    const std::string_view text = store.text(prof::StringId(read<std::uint32_t>(value)));
    quoted ? json::appendQuoted(out, text) : appendCsv(text, out);
    return;
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
  return eachRow(store, sink, options,
                 [&](const prof::TableSpec& spec, const RowBlock& block, std::uint64_t row, std::string& out) {
                   for (std::size_t c = 0; c < spec.columnCount; ++c) {
                     if (c > 0) out += ',';
                     const std::size_t width = widthOf(spec.columns[c].type);
                     appendValue(store, spec.columns[c], block.columns[c] + row * width, false, out);
                   }
                   out += '\n';
                 });
}

prof::Status exportTableJson(const Store& store, ByteSink& sink, const ExportOptions& options) {
  return eachRow(store, sink, options,
                 [&](const prof::TableSpec& spec, const RowBlock& block, std::uint64_t row, std::string& out) {
                   out += '{';
                   for (std::size_t c = 0; c < spec.columnCount; ++c) {
                     if (c > 0) out += ", ";
                     out += '"';
                     out += spec.columns[c].name;
                     out += "\": ";
                     const std::size_t width = widthOf(spec.columns[c].type);
                     appendValue(store, spec.columns[c], block.columns[c] + row * width, true, out);
                   }
                   out += "}\n";
                 });
}

}  // namespace lacuna::analyzer
