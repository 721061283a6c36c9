// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/arrow_source.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "query/query_rows.h"
#include "store/backend.h"
#include "store/damage_watch.h"

namespace lacuna::analyzer {
namespace {

std::uint64_t textOfBatch(const std::vector<ArrowColumn>& columns) {
  std::uint64_t bytes = 0;
  for (const ArrowColumn& column : columns) bytes += column.textBytes();
  return bytes;
}

// Statements.

ArrowType declaredType(const char* type) {
  const std::string_view name = type == nullptr ? "" : type;
  if (name == "INTEGER") return ArrowType::Int64;
  if (name == "REAL") return ArrowType::Float64;
  return name == "TEXT" ? ArrowType::Utf8 : ArrowType::Null;
}

bool addCell(ArrowColumn& column, sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
      column.addNull();
      return true;
    case SQLITE_INTEGER:
      return column.addInteger(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
      return column.addReal(sqlite3_value_double(value));
    default: {
      // As a blob a text is not copied to get a zero behind it.
      const auto* text = static_cast<const char*>(sqlite3_value_blob(value));
      const auto bytes = static_cast<std::size_t>(sqlite3_value_bytes(value));
      return column.addText(text == nullptr ? std::string_view() : std::string_view(text, bytes));
    }
  }
}

class StatementSource : public ArrowSource {
 public:
  StatementSource(std::unique_ptr<Query> query, std::unique_ptr<QueryRows> rows)
      : query_(std::move(query)), rows_(std::move(rows)) {}

  [[nodiscard]] std::vector<std::string> names() const override {
    return distinctNames(rows_->names());
  }

  [[nodiscard]] std::vector<ArrowColumn> columns() const override {
    std::vector<ArrowColumn> columns;
    for (int i = 0; i < rows_->columns(); ++i)
      columns.emplace_back(declaredType(sqlite3_column_decltype(rows_->statement(), i)));
    return columns;
  }

  prof::Result<bool> fill(std::vector<ArrowColumn>& columns, std::uint64_t rows) override {
    for (std::uint64_t n = 0; n < rows && textOfBatch(columns) < kArrowBatchText; ++n) {
      const auto more = rows_->next();
      if (!more || !*more) return more;
      ++row_;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!addCell(columns[i], sqlite3_column_value(rows_->statement(), static_cast<int>(i))))
          return misfit(columns[i].type(), static_cast<int>(i));
      }
    }
    return true;
  }

 private:
  [[nodiscard]] prof::Error misfit(ArrowType type, int column) const {
    sqlite3_stmt* statement = rows_->statement();
    const bool isReal = sqlite3_column_type(statement, column) == SQLITE_FLOAT;
    return {
        fmt::format("SQL: column '{}' holds {} before row {} and {} there; write CAST(… AS {}) in "
                    "the statement",
                    sqlite3_column_name(statement, column),
                    type == ArrowType::Int64 ? "whole numbers" : "numbers", row_,
                    isReal ? "a number with decimals" : "a text", isReal ? "REAL" : "TEXT")};
  }

  std::unique_ptr<Query> query_;  ///< outlives rows_
  std::unique_ptr<QueryRows> rows_;
  std::uint64_t row_ = 0;  ///< counted from 1
};

// Tables.

/// The length of a batch's texts is checked after so many rows.
constexpr std::uint64_t kPieceRows = 4096;

template <class T>
T numberAt(const std::byte* values, std::uint64_t row) {
  T value;
  std::memcpy(&value, values + row * sizeof value, sizeof value);
  return value;
}

/// Columns of tables are fixed to a type that holds all their values.
template <class T>
void addIntegers(ArrowColumn& column, const std::byte* values, std::uint64_t from,
                 std::uint64_t to) {
  for (std::uint64_t row = from; row < to; ++row)
    (void)column.addInteger(static_cast<std::int64_t>(numberAt<T>(values, row)));
}

class TableSource : public ArrowSource {
 public:
  TableSource(std::shared_ptr<const Store> store, std::size_t table)
      : store_(std::move(store)), table_(table), spec_(prof::allTables()[table]), watch_(*store_) {
    std::vector<std::size_t> all(spec_.columnCount);
    std::iota(all.begin(), all.end(), 0U);
    stream_ = store_->backend().stream(table, all, {INT64_MIN, INT64_MAX});
    if (!stream_) keepColumns();
  }

  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < spec_.columnCount; ++i) names.emplace_back(spec_.columns[i].name);
    return names;
  }

  [[nodiscard]] std::vector<ArrowColumn> columns() const override {
    std::vector<ArrowColumn> columns;
    for (std::size_t i = 0; i < spec_.columnCount; ++i) {
      const prof::ColumnSpec& column = spec_.columns[i];
      columns.emplace_back(column.refers == prof::Refers::String  ? ArrowType::Utf8
                           : column.type == prof::ColumnType::F64 ? ArrowType::Float64
                                                                  : ArrowType::Int64);
    }
    return columns;
  }

  prof::Result<bool> fill(std::vector<ArrowColumn>& columns, std::uint64_t rows) override {
    for (std::uint64_t left = rows; left > 0 && textOfBatch(columns) < kArrowBatchText;) {
      if (row_ == block_.rows && !pull()) return end();
      const std::uint64_t piece = std::min({left, kPieceRows, block_.rows - row_});
      for (std::size_t i = 0; i < columns.size(); ++i) add(columns[i], i, row_, row_ + piece);
      row_ += piece;
      left -= piece;
    }
    return true;
  }

 private:
  /// Memory has the columns as a whole, and they are one block.
  void keepColumns() {
    for (std::size_t i = 0; i < spec_.columnCount; ++i)
      kept_.push_back(store_->column(table_, i).data);
    allRows_ = RowBlock{.firstRow = 0, .rows = store_->rows(table_), .columns = kept_};
  }

  bool pull() {
    row_ = 0;
    block_.rows = 0;
    if (stream_) return stream_->next(block_);
    block_ = std::exchange(allRows_, {});
    return block_.rows > 0;
  }

  prof::Result<bool> end() const {
    if (const prof::Status status = watch_.status(); !status) return status.error();
    return false;
  }

  void add(ArrowColumn& column, std::size_t number, std::uint64_t from, std::uint64_t to) const {
    const std::byte* values = block_.columns[number];
    const prof::ColumnSpec& spec = spec_.columns[number];
    if (spec.refers == prof::Refers::String) {
      for (std::uint64_t row = from; row < to; ++row)
        (void)column.addText(store_->text(prof::StringId(numberAt<std::uint32_t>(values, row))));
      return;
    }
    switch (spec.type) {
      case prof::ColumnType::F64:
        for (std::uint64_t row = from; row < to; ++row)
          addReal(column, numberAt<double>(values, row));
        return;
      case prof::ColumnType::I32:
        return addIntegers<std::int32_t>(column, values, from, to);
      case prof::ColumnType::U32:
        return addIntegers<std::uint32_t>(column, values, from, to);
      case prof::ColumnType::U16:
        return addIntegers<std::uint16_t>(column, values, from, to);
      case prof::ColumnType::U8:
        return addIntegers<std::uint8_t>(column, values, from, to);
      default:
        return addIntegers<std::int64_t>(column, values, from, to);
    }
  }

  /// SQL has no not-a-number.
  static void addReal(ArrowColumn& column, double value) {
    if (std::isnan(value)) {
      column.addNull();
    } else {
      (void)column.addReal(value);
    }
  }

  std::shared_ptr<const Store> store_;
  std::size_t table_;
  const prof::TableSpec& spec_;
  DamageWatch watch_;
  std::unique_ptr<RowStream> stream_;
  std::vector<const std::byte*> kept_;
  RowBlock allRows_;
  RowBlock block_;
  std::uint64_t row_ = 0;  ///< in block_
};

}  // namespace

prof::Result<std::unique_ptr<ArrowSource>> statementSource(std::unique_ptr<Query> query,
                                                           std::string_view sql) {
  auto rows = query->start(sql);
  if (!rows) return rows.error();
  return std::unique_ptr<ArrowSource>(
      std::make_unique<StatementSource>(std::move(query), *std::move(rows)));
}

std::unique_ptr<ArrowSource> tableSource(std::shared_ptr<const Store> store, std::size_t table) {
  return std::make_unique<TableSource>(std::move(store), table);
}

}  // namespace lacuna::analyzer
