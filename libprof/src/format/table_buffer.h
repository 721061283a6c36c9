// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/encoding.h"
#include "format/layout.h"
#include "format/planner.h"

namespace lacuna::prof::format {

/// A TableSpec that owns its names.
struct OwnedTable {
  explicit OwnedTable(const TableSpec& spec);
  OwnedTable(const OwnedTable&) = delete;
  OwnedTable& operator=(const OwnedTable&) = delete;

  std::string name;
  std::vector<std::string> columnNames;
  std::vector<ColumnSpec> columns;
  TableSpec spec;
};

/// The rows of one table that are not in the file yet, as columns.
class RowBuffer {
 public:
  RowBuffer(std::span<const ColumnSpec> columns, std::size_t capacity);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] bool full() const { return rows_ == capacity_; }
  [[nodiscard]] std::size_t room() const { return capacity_ - rows_; }
  void clear() { rows_ = 0; }
  /// Where the next row goes: columns()[c] + at * width.
  std::byte* const* columns() { return data_.data(); }
  /// Makes room for `more` rows (at most room()).
  void reserve(std::size_t more);
  void commit(std::size_t more) { rows_ += more; }
  void append(std::span<const void* const> columns, std::size_t first, std::size_t count);
  void appendRow(std::span<const ColumnView> from, std::size_t row);
  [[nodiscard]] std::vector<ColumnView> views() const;

 private:
  std::span<const ColumnSpec> columns_;
  std::size_t capacity_;
  std::size_t allocated_ = 0;
  std::size_t rows_ = 0;
  std::vector<Bytes> storage_;
  std::vector<std::byte*> data_;
};

/// Everything the writer keeps for one table.
struct TableBuffer {
  TableBuffer(const TableSpec& spec, std::size_t capacity);

  OwnedTable table;
  RowBuffer rows;
  RowBuffer longRows;
  std::size_t timeColumn;    ///< the first Time column, or columnCount
  std::size_t lengthColumn;  ///< the first Length column, or columnCount
  Planner planner;
};

/// First start and last end (exclusive) of the rows.
void timeRange(const TableBuffer& table, std::span<const ColumnView> views, std::size_t rows,
               BlockEntry& entry);

/// Marks the rows that last much longer than all the block's starts are apart; answers how many.
/// None when they are so many that keeping them apart would not help.
std::size_t findLongRows(const TableBuffer& table, std::span<const ColumnView> views,
                         std::size_t rows, std::vector<std::uint8_t>& isLong);

}  // namespace lacuna::prof::format
