// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::cli {
namespace {

ColumnSummary& columnOf(TableSummary& table, std::string_view name) {
  for (ColumnSummary& column : table.columns) {
    if (column.name == name) return column;
  }
  return table.columns.emplace_back(ColumnSummary{.name = std::string(name)});
}

TableSummary tableOf(const prof::Reader& reader, const prof::TableInfo& info) {
  TableSummary table{.name = std::string(info.spec.name),
                     .id = info.spec.id,
                     .rows = info.rows,
                     .blocks = info.blocks.size(),
                     .storedBytes = 0};
  for (const prof::BlockInfo& block : info.blocks) {
    *table.storedBytes += block.bytes;
    table.span.startNs = std::min(table.span.startNs, block.time.startNs);
    table.span.endNs = std::max(table.span.endNs, block.time.endNs);
    const auto stored = reader.storedColumns(block);
    if (!stored.ok()) continue;  // damage() names it where it was looked for
    for (const prof::StoredColumn& part : *stored) {
      ColumnSummary& column = columnOf(table, part.name);
      column.rawBytes += part.rawBytes;
      column.storedBytes = column.storedBytes.value_or(0) + part.storedBytes;
      ++column.encodings[part.encoding];
    }
  }
  return table;
}

/// Adds up what was not recorded. A block of it that cannot be read is named, and costs only
/// itself.
void addDrops(const prof::Reader& reader, TraceSummary& summary) {
  const prof::TableInfo* drops = reader.table(prof::Drop::kTable);
  if (drops == nullptr) return;
  constexpr auto kColumns = prof::Drop::columns();
  const std::array wanted{kColumns[prof::columnIndex<&prof::Drop::count>()],
                          kColumns[prof::columnIndex<&prof::Drop::reason>()]};
  for (const prof::BlockInfo& block : drops->blocks) {
    std::vector<std::uint64_t> counts(block.rows);
    std::vector<prof::StringId> reasons(block.rows);
    const std::array<void*, 2> out{counts.data(), reasons.data()};
    if (const prof::Status status = reader.readBlock(block, wanted, out); !status.ok()) {
      summary.damage.push_back({block.offset, block.bytes,
                                fmt::format("a block of {} rows of table drop: {}", block.rows,
                                            status.error().message)});
      continue;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      prof::addTo(summary.droppedEvents, counts[i]);
      prof::addTo(summary.dropReasons[std::string(reader.text(reasons[i]))], counts[i]);
    }
  }
}

prof::Result<TraceSummary> summariseLcn(const std::string& file, bool verify) {
  using Verify = prof::ReaderOptions::Verify;
  const auto reader = prof::Reader::open(file, {verify ? Verify::Always : Verify::Auto});
  if (!reader.ok()) return reader.error();
  TraceSummary summary{.file = reader->path().string(),
                       .source = describe(analyzer::SourceKind::Lcn),
                       .bytes = reader->fileBytes(),
                       .formatVersion = reader->formatVersion(),
                       .complete = reader->complete(),
                       .strings = reader->stringCount() - 1,
                       .span = reader->span(),
                       .damage = {reader->damage().begin(), reader->damage().end()}};
  for (const prof::DerivedBlock& block : reader->derivedBlocks())
    summary.derivedBytes += block.bytes;
  for (const prof::TableInfo& info : reader->tables())
    summary.tables.push_back(tableOf(*reader, info));
  addDrops(*reader, summary);
  if (const auto store = analyzer::Store::open(file); store.ok())
    summary.run = describeRun(**store);
  return summary;
}

template <class Row>
TableSummary tableOf(const analyzer::Store& store) {
  TableSummary table{.name = std::string(Row::kName), .id = Row::kTable, .rows = store.rows<Row>()};
  Row::forEachMember([&]<auto Member>() {
    table.columns.push_back({.name = std::string(Row::columns()[prof::columnIndex<Member>()].name),
                             .rawBytes = table.rows * sizeof(prof::ValueOf<Member>)});
  });
  const auto see = [&](prof::TimeNs start, prof::TimeNs end) {
    table.span = {std::min(table.span.startNs, start), std::max(table.span.endNs, end)};
  };
  if constexpr (requires(Row row) { row.durNs; }) {
    (void)store.scan<&Row::startNs, &Row::durNs>({}, [&](std::uint64_t, auto starts, auto lengths) {
      for (std::size_t i = 0; i < starts.size(); ++i) see(starts[i], starts[i] + lengths[i]);
    });
  } else if constexpr (requires(Row row) { row.endNs; }) {
    (void)store.scan<&Row::startNs, &Row::endNs>({}, [&](std::uint64_t, auto starts, auto ends) {
      for (std::size_t i = 0; i < starts.size(); ++i) see(starts[i], ends[i]);
    });
  } else if constexpr (requires(Row row) { row.timeNs; }) {
    (void)store.scan<&Row::timeNs>({}, [&](std::uint64_t, auto times) {
      for (const prof::TimeNs time : times) see(time, time);
    });
  }
  return table;
}

prof::Result<TraceSummary> summariseImported(const std::string& file, analyzer::SourceKind kind) {
  const auto store = analyzer::Store::open(file);
  if (!store) return store.error();
  std::error_code ignored;
  TraceSummary summary{.file = file,
                       .source = describe(kind),
                       .run = describeRun(**store),
                       .bytes = std::filesystem::file_size(file, ignored),
                       .strings = (*store)->stringCount() - 1,
                       .span = (*store)->span(),
                       .warnings = (*store)->warnings()};
  prof::forEachTable([&]<class Row>() {
    if ((*store)->template rows<Row>() > 0) summary.tables.push_back(tableOf<Row>(**store));
  });
  for (std::uint64_t i = 0; i < (*store)->rows<prof::Drop>(); ++i) {
    const auto drop = (*store)->row<prof::Drop>(i);
    prof::addTo(summary.droppedEvents, drop.count);
    prof::addTo(summary.dropReasons[std::string((*store)->text(drop.reason))], drop.count);
  }
  return summary;
}

}  // namespace

std::string ColumnSummary::mainEncoding() const {
  const auto most =
      std::max_element(encodings.begin(), encodings.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == encodings.end()) return "";
  return encodings.size() == 1
             ? most->first
             : fmt::format("{} (and {} others)", most->first, encodings.size() - 1);
}

std::uint64_t TraceSummary::rows() const {
  std::uint64_t rows = 0;
  for (const TableSummary& table : tables) rows += table.rows;
  return rows;
}

prof::Result<TraceSummary> summarise(const std::string& file, bool verify) {
  const auto kind = analyzer::sniff(file);
  std::error_code ignored;
  if (!kind && std::filesystem::exists(file, ignored)) return kind.error();
  // The reader has the best message for a file that is not there.
  if (!kind || *kind == analyzer::SourceKind::Lcn) return summariseLcn(file, verify);
  return summariseImported(file, *kind);
}

}  // namespace lacuna::cli
