// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/table_buffer.h"

#include <algorithm>
#include <cstring>

namespace lacuna::prof::format {
namespace {

/// With more long rows than one in this many, the block stays as it is.
constexpr std::size_t kLongShare = 8;

std::size_t firstWith(std::span<const ColumnSpec> columns, Hint hint) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const ColumnSpec& column) {
    return column.hint == hint && column.type == ColumnType::I64;
  });
  return static_cast<std::size_t>(found - columns.begin());
}

const std::int64_t* times(std::span<const ColumnView> views, std::size_t column) {
  return column < views.size() ? static_cast<const std::int64_t*>(views[column].values) : nullptr;
}

/// start + length without overflow, and no earlier than the start.
std::int64_t endOf(std::int64_t start, std::int64_t length) {
  std::int64_t end = 0;
  if (length <= 0) return start;
  return __builtin_add_overflow(start, length, &end) ? INT64_MAX : end;
}

}  // namespace

OwnedTable::OwnedTable(const TableSpec& from)
    : name(from.name), columns(from.columns, from.columns + from.columnCount) {
  columnNames.reserve(columns.size());
  for (ColumnSpec& column : columns) column.name = columnNames.emplace_back(column.name);
  spec = {from.id, name, columns.data(), columns.size()};
}

RowBuffer::RowBuffer(std::span<const ColumnSpec> columns, std::size_t capacity)
    : columns_(columns), capacity_(capacity), storage_(columns.size()), data_(columns.size()) {}

void RowBuffer::reserve(std::size_t more) {
  if (rows_ + more <= allocated_) return;
  allocated_ = std::min(capacity_, std::max({std::size_t{256}, allocated_ * 4, rows_ + more}));
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    storage_[c].resize(allocated_ * widthOf(columns_[c].type));
    data_[c] = storage_[c].data();
  }
}

void RowBuffer::append(std::span<const void* const> columns, std::size_t first, std::size_t count) {
  reserve(count);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::size_t width = widthOf(columns_[c].type);
    std::memcpy(data_[c] + rows_ * width, static_cast<const std::byte*>(columns[c]) + first * width,
                count * width);
  }
  commit(count);
}

void RowBuffer::appendRow(std::span<const ColumnView> from, std::size_t row) {
  reserve(1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::size_t width = widthOf(columns_[c].type);
    std::memcpy(data_[c] + rows_ * width,
                static_cast<const std::byte*>(from[c].values) + row * width, width);
  }
  commit(1);
}

std::vector<ColumnView> RowBuffer::views() const {
  std::vector<ColumnView> views;
  for (std::size_t c = 0; c < columns_.size(); ++c) views.push_back({columns_[c].type, data_[c]});
  return views;
}

TableBuffer::TableBuffer(const TableSpec& spec, std::size_t capacity)
    : table(spec),
      rows(table.columns, capacity),
      longRows(table.columns, capacity),
      timeColumn(firstWith(table.columns, Hint::Time)),
      lengthColumn(firstWith(table.columns, Hint::Length)),
      planner(table.columns) {}

void timeRange(const TableBuffer& table, std::span<const ColumnView> views, std::size_t rows,
               BlockEntry& entry) {
  const std::int64_t* starts = times(views, table.timeColumn);
  const std::int64_t* lengths = times(views, table.lengthColumn);
  if (starts == nullptr) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t end = lengths != nullptr ? endOf(starts[i], lengths[i]) : starts[i];
    entry.minTime = std::min(entry.minTime, starts[i]);
    entry.maxTime = std::max(entry.maxTime, std::max(end, endOf(starts[i], 1)));
  }
}

std::size_t findLongRows(const TableBuffer& table, std::span<const ColumnView> views,
                         std::size_t rows, std::vector<std::uint8_t>& isLong) {
  const std::int64_t* starts = times(views, table.timeColumn);
  const std::int64_t* lengths = times(views, table.lengthColumn);
  if (starts == nullptr || lengths == nullptr || rows < kLongShare) return 0;
  const auto [first, last] = std::minmax_element(starts, starts + rows);
  const auto span = static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first);
  const auto limit = static_cast<std::int64_t>(std::min<std::uint64_t>(span, INT64_MAX));
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows; ++i) count += lengths[i] > limit;
  if (count == 0 || count > rows / kLongShare) return 0;
  isLong.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) isLong[i] = lengths[i] > limit;
  return count;
}

}  // namespace lacuna::prof::format
