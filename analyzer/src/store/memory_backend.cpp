// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/memory_backend.h"

#include <algorithm>
#include <cstring>

namespace lacuna::analyzer {

std::optional<std::size_t> columnWithHint(const prof::TableSpec& table, prof::Hint hint) {
  for (std::size_t i = 0; i < table.columnCount; ++i) {
    if (table.columns[i].hint == hint) return i;
  }
  return std::nullopt;
}

namespace {

/// As in a file: the end is exclusive, so what has no length takes a nanosecond.
prof::TimeNs endOf(prof::TimeNs start, prof::TimeNs length) {
  const prof::TimeNs taken = std::max<prof::TimeNs>(1, length);
  return start > INT64_MAX - taken ? INT64_MAX : start + taken;
}

}  // namespace

std::vector<prof::TimeWindow> blockBounds(const prof::TableSpec& spec, const MemoryTable& table) {
  const auto time = columnWithHint(spec, prof::Hint::Time);
  const auto length = columnWithHint(spec, prof::Hint::Length);
  std::vector<prof::TimeWindow> bounds;
  for (std::uint64_t first = 0; first < table.rows; first += kScanRows) {
    const std::uint64_t last = std::min(first + kScanRows, table.rows);
    prof::TimeWindow window;
    if (time) {
      const auto* starts = reinterpret_cast<const prof::TimeNs*>(table.columns[*time].data);
      window = {starts[first], endOf(starts[last - 1], 0)};
      if (length) {
        const auto* lengths = reinterpret_cast<const prof::TimeNs*>(table.columns[*length].data);
        for (std::uint64_t i = first; i < last; ++i)
          window.endNs = std::max(window.endNs, endOf(starts[i], lengths[i]));
      }
    }
    bounds.push_back(window);
  }
  return bounds;
}

MemoryBackend::MemoryBackend(std::vector<MemoryTable> tables, StringPool strings,
                             std::vector<std::string> warnings, std::filesystem::path path)
    : tables_(std::move(tables)),
      strings_(std::move(strings)),
      warnings_(std::move(warnings)),
      path_(std::move(path)) {
  prof::TimeWindow span{INT64_MAX, INT64_MIN};
  const auto specs = prof::allTables();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    tables_[i].blocks = blockBounds(specs[i], tables_[i]);
    if (!prof::holdsEvents(specs[i].id) || !columnWithHint(specs[i], prof::Hint::Time)) continue;
    for (const auto& block : tables_[i].blocks) {
      span = {std::min(span.startNs, block.startNs), std::max(span.endNs, block.endNs)};
    }
  }
  if (span.startNs <= span.endNs) span_ = span;
}

void MemoryBackend::readRow(std::size_t table, std::uint64_t row,
                            std::span<const std::size_t> columns,
                            std::span<std::byte* const> out) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnView& view = tables_[table].columns[columns[i]];
    const std::size_t width = widthOf(view.type);
    std::memcpy(out[i], view.data + row * width, width);
  }
}

prof::Status MemoryBackend::scan(std::size_t table, std::span<const std::size_t> columns,
                                 prof::TimeWindow window,
                                 const std::function<bool(const RowBlock&)>& visit) const {
  const MemoryTable& from = tables_[table];
  std::vector<const std::byte*> pointers(columns.size());
  for (std::size_t block = 0; block < from.blocks.size(); ++block) {
    const prof::TimeWindow& bounds = from.blocks[block];
    if (bounds.startNs >= window.endNs) break;
    if (bounds.endNs < window.startNs) continue;
    const std::uint64_t first = block * kScanRows;
    const std::uint64_t rows = std::min(kScanRows, from.rows - first);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const ColumnView& view = from.columns[columns[i]];
      pointers[i] = view.data + first * widthOf(view.type);
    }
    if (!visit({first, rows, pointers})) break;
  }
  return {};
}

}  // namespace lacuna::analyzer
