// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "command.h"
#include "commands.h"
#include "lacuna/prof/reader.h"
#include "output.h"

namespace lacuna::cli {
namespace {

struct Options {
  std::string file;
  bool json = false;
  bool verify = false;
};

/// A column over all blocks of its table.
struct ColumnSummary {
  std::string name;
  std::uint64_t rawBytes = 0;
  std::uint64_t storedBytes = 0;
  std::map<std::string, std::size_t> encodings{};  ///< blocks that use it

  [[nodiscard]] std::string mainEncoding() const {
    const auto most = std::max_element(encodings.begin(), encodings.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == encodings.end()) return "";
    return encodings.size() == 1 ? most->first : fmt::format("{} (and {} others)", most->first, encodings.size() - 1);
  }
};

struct TableSummary {
  const prof::TableInfo* info = nullptr;
  std::uint64_t storedBytes = 0;
  prof::TimeWindow span{INT64_MAX, INT64_MIN};
  std::vector<ColumnSummary> columns{};
};

struct DropSummary {
  std::uint64_t events = 0;
  std::map<std::string, std::uint64_t> reasons;
};

ColumnSummary& columnOf(TableSummary& table, std::string_view name) {
  for (ColumnSummary& column : table.columns) {
    if (column.name == name) return column;
  }
  return table.columns.emplace_back(ColumnSummary{.name = std::string(name)});
}

TableSummary summarise(const prof::Reader& reader, const prof::TableInfo& info) {
  TableSummary table{.info = &info};
  for (const prof::BlockInfo& block : info.blocks) {
    table.storedBytes += block.bytes;
    table.span.startNs = std::min(table.span.startNs, block.time.startNs);
    table.span.endNs = std::max(table.span.endNs, block.time.endNs);
    const auto stored = reader.storedColumns(block);
    if (!stored.ok()) continue;  // damage() names it where it was looked for
    for (const prof::StoredColumn& part : *stored) {
      ColumnSummary& column = columnOf(table, part.name);
      column.rawBytes += part.rawBytes;
      column.storedBytes += part.storedBytes;
      ++column.encodings[part.encoding];
    }
  }
  return table;
}

prof::Result<DropSummary> drops(const prof::Reader& reader) {
  DropSummary summary;
  prof::Status status = reader.scan<&prof::Drop::count, &prof::Drop::reason>({}, [&](auto counts, auto reasons) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      summary.events += counts[i];
      summary.reasons[std::string(reader.text(reasons[i]))] += counts[i];
    }
  });
  if (!status.ok()) return status.error();
  return summary;
}

double perRow(std::uint64_t bytes, std::uint64_t rows) {
  return rows == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(rows);
}

/// What was computed from the rows, and can be again.
std::uint64_t derivedBytes(const prof::Reader& reader) {
  std::uint64_t bytes = 0;
  for (const prof::DerivedBlock& block : reader.derivedBlocks()) bytes += block.bytes;
  return bytes;
}

std::uint64_t totalRows(const prof::Reader& reader) {
  std::uint64_t rows = 0;
  for (const prof::TableInfo& table : reader.tables()) rows += table.rows;
  return rows;
}

void printTable(const TableSummary& table) {
  const Style& s = style();
  const bool timed = table.span.startNs <= table.span.endNs;
  fmt::print("\n{}{}{}  {} rows in {} blocks, {}, {:.2f} bytes a row{}\n", s.bold, table.info->spec.name, s.reset,
             withCommas(table.info->rows), withCommas(table.info->blocks.size()), humanBytes(table.storedBytes),
             perRow(table.storedBytes, table.info->rows),
             timed ? fmt::format(", over {}", humanDuration(table.span.endNs - table.span.startNs)) : "");
  fmt::print("{}  {:<22}{:>12}{:>12}{:>12}  stored as{}\n", s.dim, "column", "raw", "stored", "bytes/row", s.reset);
  for (const ColumnSummary& column : table.columns) {
    fmt::print("  {:<22}{:>12}{:>12}{:>12.3f}  {}\n", column.name, humanBytes(column.rawBytes),
               humanBytes(column.storedBytes), perRow(column.storedBytes, table.info->rows), column.mainEncoding());
  }
}

void printProblems(const prof::Reader& reader, const DropSummary& dropped) {
  const Style& s = style();
  if (dropped.events == 0) {
    fmt::print("drops    none recorded\n");
  } else {
    fmt::print("drops    {}{} events were not recorded{}\n", s.yellow, withCommas(dropped.events), s.reset);
  }
  for (const auto& [reason, count] : dropped.reasons) fmt::print("         {}: {}\n", withCommas(count), reason);
  if (reader.damage().empty()) fmt::print("damage   {}none{}\n", s.green, s.reset);
  for (const prof::Damage& damage : reader.damage()) {
    fmt::print("damage   {}at byte {}, {} bytes: {}{}\n", s.red, withCommas(damage.offset), withCommas(damage.bytes),
               damage.what, s.reset);
  }
}

void printText(const prof::Reader& reader, const std::vector<TableSummary>& tables, const DropSummary& dropped) {
  const Style& s = style();
  const std::uint64_t rows = totalRows(reader);
  const prof::TimeWindow span = reader.span();
  fmt::print("{}{}{}  {}, format {}, {}\n", s.bold, reader.path().string(), s.reset, humanBytes(reader.fileBytes()),
             reader.formatVersion(), reader.complete() ? "complete" : "without its end");
  fmt::print("rows     {} in {} tables, {:.2f} bytes a row\n", withCommas(rows), tables.size(),
             perRow(reader.fileBytes() - derivedBytes(reader), rows));
  if (!reader.derivedBlocks().empty()) {
    fmt::print("derived  {} beside them, for the timeline to open at once\n", humanBytes(derivedBytes(reader)));
  }
  fmt::print("span     {}\n", humanDuration(span.endNs - span.startNs));
  fmt::print("strings  {}\n", withCommas(reader.stringCount() - 1));
  printProblems(reader, dropped);
  for (const TableSummary& table : tables) printTable(table);
}

std::string columnJson(const ColumnSummary& column, std::uint64_t rows) {
  return fmt::format(R"({{"name": {}, "raw_bytes": {}, "stored_bytes": {}, "bytes_per_row": {:.4f}, "encoding": {}}})",
                     jsonString(column.name), column.rawBytes, column.storedBytes, perRow(column.storedBytes, rows),
                     jsonString(column.mainEncoding()));
}

std::string tableJson(const TableSummary& table) {
  std::string columns;
  for (const ColumnSummary& column : table.columns) {
    columns += (columns.empty() ? "" : ", ") + columnJson(column, table.info->rows);
  }
  const bool timed = table.span.startNs <= table.span.endNs;
  return fmt::format(
      R"({{"name": {}, "id": {}, "rows": {}, "blocks": {}, "stored_bytes": {}, "start_ns": {}, "end_ns": {}, "columns": [{}]}})",
      jsonString(table.info->spec.name), table.info->spec.id, table.info->rows, table.info->blocks.size(),
      table.storedBytes, timed ? fmt::format("{}", table.span.startNs) : "null",
      timed ? fmt::format("{}", table.span.endNs) : "null", columns);
}

void printJson(const prof::Reader& reader, const std::vector<TableSummary>& tables, const DropSummary& dropped) {
  std::string tableList;
  for (const TableSummary& table : tables) tableList += (tableList.empty() ? "\n    " : ",\n    ") + tableJson(table);
  std::string reasons;
  for (const auto& [reason, count] : dropped.reasons) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : ", ", jsonString(reason), count);
  }
  fmt::print(
      "{{\n  \"file\": {},\n  \"bytes\": {},\n  \"derived_bytes\": {},\n  \"format_version\": {},\n  \"complete\": "
      "{},\n  \"rows\": {},\n"
      "  \"strings\": {},\n  \"start_ns\": {},\n  \"end_ns\": {},\n  \"dropped_events\": {},\n"
      "  \"drop_reasons\": {{{}}},\n  \"damage\": {},\n  \"tables\": [{}\n  ]\n}}\n",
      jsonString(reader.path().string()), reader.fileBytes(), derivedBytes(reader), jsonString(reader.formatVersion()),
      reader.complete(), totalRows(reader), reader.stringCount() - 1, reader.span().startNs, reader.span().endNs,
      dropped.events, reasons, damageJson(reader.damage()), tableList);
}

int run(const Options& options) {
  using Verify = prof::ReaderOptions::Verify;
  const auto reader = prof::Reader::open(options.file, {options.verify ? Verify::Always : Verify::Auto});
  if (!reader.ok()) return printError(reader.error().message);
  std::vector<TableSummary> tables;
  for (const prof::TableInfo& info : reader->tables()) tables.push_back(summarise(*reader, info));
  const auto dropped = drops(*reader);
  if (!dropped.ok()) return printError(dropped.error().message);
  (options.json ? printJson : printText)(*reader, tables, *dropped);
  return options.verify && !reader->damage().empty() ? kError : kOk;
}

}  // namespace

void addInfo(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<Options>();
  Command command(app, "info", "Say what a trace file holds: tables, sizes, drops, damage");
  command.option("file", options->file, "an .lcn file, also one that is damaged or still being written").required();
  command.flag("--json", options->json, "as JSON");
  command.flag("--verify", options->verify,
               "test every checksum, also of files over 64 MiB, and exit with 1 when something is missing");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
