// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// One table: rows are given value by value, in the order of the columns.
class SqliteTable {
 public:
  SqliteTable(sqlite3* db, std::string_view name, std::string_view columns);
  ~SqliteTable() { sqlite3_finalize(statement_); }
  SqliteTable(const SqliteTable&) = delete;
  SqliteTable& operator=(const SqliteTable&) = delete;

  SqliteTable& null() {
    ++at_;
    return *this;
  }
  SqliteTable& number(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++at_, value);
    return *this;
  }
  template <class... T>
  SqliteTable& numbers(T... values) {
    (number(static_cast<std::int64_t>(values)), ...);
    return *this;
  }
  SqliteTable& real(double value) {
    sqlite3_bind_double(statement_, ++at_, value);
    return *this;
  }
  /// Readers such as Python's refuse the whole row for a byte that is no UTF-8.
  SqliteTable& text(std::string_view value);
  /// The row is complete.
  void end();
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int at_ = 0;
  std::string problem_;
};

}  // namespace lacuna::analyzer
