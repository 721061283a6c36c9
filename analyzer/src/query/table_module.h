// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "query/guarded.h"

namespace lacuna::analyzer {

/// The columns of a table that SQLite asks for, as its CREATE TABLE.
class TableSql {
 public:
  /// `storage`: TEXT, REAL or INTEGER.
  void add(std::string_view column, std::string_view storage) {
    sql_.append(sql_.empty() ? "CREATE TABLE x(\"" : ", \"")
        .append(column)
        .append("\" ")
        .append(storage);
  }
  [[nodiscard]] std::string take() { return std::move(sql_) + ")"; }

 private:
  std::string sql_;
};

inline void answerText(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text(context, text.data() == nullptr ? "" : text.data(),
                      static_cast<int>(text.size()), SQLITE_STATIC);
}

/// A table whose rows come from this program. Table derives from sqlite3_vtab, is made of a
/// Table::Source&, and has
///   std::string sql() const                       its columns (TableSql)
///   int plan(sqlite3_index_info& info) const      how a statement reads it (SQLite's xBestIndex)
/// Table::Cursor derives from sqlite3_vtab_cursor, is made of a Table&, and has
///   int filter(int plan, const char* text, std::span<sqlite3_value*> values)   begins such a plan
///   void next(), bool atEnd() const, std::uint64_t row (the rowid)
///   void answer(sqlite3_context* context, int column)
template <class Table>
class TableModule {
 public:
  using Source = typename Table::Source;
  using Cursor = typename Table::Cursor;

  /// Without xCreate a table is eponymous: it exists under its module's name. The source lives as
  /// long as the connection.
  static void add(sqlite3* db, std::string_view name, std::unique_ptr<Source> source) {
    static const sqlite3_module kModule = module();
    sqlite3_create_module_v2(db, std::string(name).c_str(), &kModule, source.release(),
                             [](void* held) { delete static_cast<Source*>(held); });
  }

 private:
  static Cursor& cursorOf(sqlite3_vtab_cursor* base) { return *static_cast<Cursor*>(base); }

  static int connect(sqlite3* db, void* source, int, const char* const*, sqlite3_vtab** out,
                     char**) {
    auto table = std::make_unique<Table>(*static_cast<Source*>(source));
    const std::string sql = table->sql();
    *out = table.release();
    return sqlite3_declare_vtab(db, sql.c_str());
  }
  static int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
  }
  static int plan(sqlite3_vtab* table, sqlite3_index_info* info) {
    return static_cast<Table*>(table)->plan(*info);
  }
  static int open(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
    *out = new Cursor(*static_cast<Table*>(table));
    return SQLITE_OK;
  }
  static int close(sqlite3_vtab_cursor* cursor) {
    delete &cursorOf(cursor);
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor* cursor, int plan, const char* text, int count,
                    sqlite3_value** values) {
    return cursorOf(cursor).filter(plan, text, std::span(values, static_cast<std::size_t>(count)));
  }
  static int next(sqlite3_vtab_cursor* cursor) {
    cursorOf(cursor).next();
    return SQLITE_OK;
  }
  static int atEnd(sqlite3_vtab_cursor* cursor) {
    return static_cast<int>(cursorOf(cursor).atEnd());
  }
  static int answer(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
    cursorOf(cursor).answer(context, column);
    return SQLITE_OK;
  }
  static int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
    *out = static_cast<sqlite3_int64>(cursorOf(cursor).row);
    return SQLITE_OK;
  }

  static sqlite3_module module() {
    sqlite3_module out{};
    out.xConnect = guarded<connect>;
    out.xDisconnect = guarded<disconnect>;
    out.xBestIndex = guarded<plan>;
    out.xOpen = guarded<open>;
    out.xClose = guarded<close>;
    out.xFilter = guarded<filter>;
    out.xNext = guarded<next>;
    out.xEof = guarded<atEnd>;
    out.xColumn = guarded<answer>;
    out.xRowid = guarded<rowid>;
    return out;
  }
};

}  // namespace lacuna::analyzer
