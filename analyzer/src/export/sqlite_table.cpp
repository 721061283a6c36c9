// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/sqlite_table.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {

SqliteTable::SqliteTable(sqlite3* db, std::string_view name, std::string_view columns) : db_(db) {
  std::string marks;
  for (std::size_t at = 0; at != std::string_view::npos; at = columns.find(',', at + 1)) {
    marks += marks.empty() ? "?" : ",?";
  }
  const auto sql = fmt::format("CREATE TABLE \"{}\" ({})", name, columns);
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    problem_ = sqlite3_errmsg(db);
  const auto insert = fmt::format("INSERT INTO \"{}\" VALUES ({})", name, marks);
  sqlite3_prepare_v2(db, insert.c_str(), -1, &statement_, nullptr);
}

SqliteTable& SqliteTable::text(std::string_view value) {
  if (!simdjson::validate_utf8(value)) return text(std::string_view(validUtf8(value)));
  sqlite3_bind_text64(statement_, ++at_, value.data() == nullptr ? "" : value.data(), value.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

void SqliteTable::end() {
  at_ = 0;
  if (statement_ == nullptr) return;
  if (sqlite3_step(statement_) != SQLITE_DONE && problem_.empty()) problem_ = sqlite3_errmsg(db_);
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

}  // namespace lacuna::analyzer
