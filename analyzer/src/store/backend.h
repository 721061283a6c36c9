// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Rows of a table, pulled block by block in the order of the table.
class RowStream {
 public:
  virtual ~RowStream() = default;
  /// The next rows, valid until the next call; false at the end.
  virtual bool next(RowBlock& out) = 0;
};

/// The contract behind Store: immutable, safe for many threads. Tables and columns are numbered as
/// declared.
class Store::Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::uint64_t rows(std::size_t table) const = 0;
  /// In time order, kept until the backend goes.
  [[nodiscard]] virtual ColumnView column(std::size_t table, std::size_t column) const = 0;
  virtual prof::Status scan(std::size_t table, std::span<const std::size_t> columns,
                            prof::TimeWindow window,
                            const std::function<bool(const RowBlock&)>& visit) const = 0;
  /// The rows that scan() visits, for those who must ask instead of being called. Null where
  /// `column` costs nothing.
  [[nodiscard]] virtual std::unique_ptr<RowStream> stream(std::size_t /*table*/,
                                                          std::span<const std::size_t> /*columns*/,
                                                          prof::TimeWindow /*window*/) const {
    return nullptr;
  }
  /// The values of one row; `out[i]` has room for one value of columns[i]. Reads no more than it
  /// must.
  virtual void readRow(std::size_t table, std::uint64_t row, std::span<const std::size_t> columns,
                       std::span<std::byte* const> out) const = 0;
  [[nodiscard]] virtual std::string_view text(prof::StringId id) const = 0;
  [[nodiscard]] virtual prof::StringId find(std::string_view text) const = 0;
  [[nodiscard]] virtual std::uint32_t stringCount() const = 0;
  [[nodiscard]] virtual prof::TimeWindow span() const = 0;
  [[nodiscard]] virtual std::vector<std::string> warnings() const = 0;
  /// Number of reads of something that is damaged and came as zeros.
  [[nodiscard]] virtual std::uint64_t damagedReads() const { return 0; }
  [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
  /// The file behind it, if it is an .lcn one.
  [[nodiscard]] virtual const prof::Reader* reader() const { return nullptr; }
};

/// The bytes of one value of a column.
constexpr std::size_t widthOf(prof::ColumnType type) {
  switch (type) {
    case prof::ColumnType::I64:
    case prof::ColumnType::U64:
    case prof::ColumnType::F64:
      return 8;
    case prof::ColumnType::I32:
    case prof::ColumnType::U32:
      return 4;
    case prof::ColumnType::U16:
      return 2;
    case prof::ColumnType::U8:
      return 1;
  }
  return 8;
}

/// The column that orders a table, and the one that holds its rows' lengths.
std::optional<std::size_t> columnWithHint(const prof::TableSpec& table, prof::Hint hint);

/// Behind the number of values that were brought back to the bounds of their column (see
/// lacuna/prof/bounds.h).
inline constexpr std::string_view kFarValues =
    "times, lengths or sizes are beyond what a trace can have (73 years, 1 PiB); the nearest "
    "possible value stands for each";

/// Rows of one block of a memory table, and about the rows of one step of a scan.
inline constexpr std::uint64_t kScanRows = 65536;

}  // namespace lacuna::analyzer
