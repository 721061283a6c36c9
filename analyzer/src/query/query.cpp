// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lacuna/analyzer/utf8.h"
#include "query/collective_table.h"
#include "query/virtual_table.h"
#include "store/damage_watch.h"

namespace lacuna::analyzer {
namespace {

/// arg_value(type, value): what a row of table arg says. Nothing for what no row holds.
void argValue(sqlite3_context* context, int, sqlite3_value** values) {
  const Store& store = **static_cast<std::shared_ptr<const Store>*>(sqlite3_user_data(context));
  const sqlite3_int64 type = sqlite3_value_int64(values[0]);
  const sqlite3_int64 value = sqlite3_value_int64(values[1]);
  const auto is = [&](prof::ArgType wanted) { return type == static_cast<sqlite3_int64>(wanted); };
  if (is(prof::ArgType::Bool) || is(prof::ArgType::I64)) return sqlite3_result_int64(context, value);
  if (is(prof::ArgType::F64)) return sqlite3_result_double(context, std::bit_cast<double>(value));
  const bool isText = is(prof::ArgType::Text) || is(prof::ArgType::Json);
  if (!isText || value < 0 || value >= store.stringCount()) return sqlite3_result_null(context);
  const std::string_view text = store.text(prof::StringId(static_cast<std::uint32_t>(value)));
  sqlite3_result_text(context, text.data() == nullptr ? "" : text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

constexpr std::size_t kExcerptBytes = 40;

bool isInsideCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// " (at character 12: …FROM ⟶kernels WHERE…)"; `at` is in bytes.
std::string placeOf(std::string_view sql, std::size_t at) {
  at = std::min(at, sql.size());
  std::size_t begin = at - std::min(at, kExcerptBytes);
  while (begin < at && isInsideCharacter(sql[begin])) ++begin;
  const std::string_view before = sql.substr(begin, at - begin);
  const std::string_view after = headOf(sql.substr(at), kExcerptBytes);
  const auto character = 1 + std::count_if(sql.begin(), sql.begin() + static_cast<std::ptrdiff_t>(at),
                                           [](char c) { return !isInsideCharacter(c); });
  return fmt::format(" (at character {}: {}{}⟶{}{})", character, begin > 0 ? "…" : "", oneLine(before), oneLine(after),
                     at + after.size() < sql.size() ? "…" : "");
}

}  // namespace

Query::Query(std::shared_ptr<const Store> store, std::uint64_t mostKeptRows) : store_(std::move(store)) {
  if (sqlite3_open(":memory:", &db_) != SQLITE_OK) return;
  // Whoever asks about a trace writes no files, by ATTACH and VACUUM INTO neither.
  sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 0);
  registerTables(db_, *store_, mostKeptRows);
  registerCollectives(db_, *store_);
  sqlite3_create_function_v2(db_, "arg_value", 2, SQLITE_UTF8, &store_, argValue, nullptr, nullptr, nullptr);
}

Query::~Query() {
  sqlite3_close(db_);
}

void Query::interrupt() {
  sqlite3_interrupt(db_);
}

std::string Query::explained(const std::string& message, const std::string& place) const {
  std::string known;
  if (message.starts_with("too many attached databases")) return "SQL: a query reads the trace and no other database";
  if (message.starts_with("no such table")) {
    for (const prof::TableSpec& table : prof::allTables()) {
      if (store_->rows(static_cast<std::size_t>(&table - prof::allTables().data())) == 0) continue;
      known += fmt::format("{}{}", known.empty() ? "; tables with rows: " : ", ", table.name);
    }
  } else if (message.starts_with("no such column")) {
    known = "; docs/schema.md lists the columns, and so does SELECT name FROM pragma_table_info('range')";
  } else if (!place.empty()) {
    known = "; docs/query.md has examples, and `lacuna query --schema` lists the tables and their columns";
  }
  return "SQL: " + message + place + known;
}

prof::Status Query::run(std::string_view sql, const std::function<void(const std::vector<std::string>&)>& columns,
                        const std::function<bool(const std::vector<QueryValue>&)>& row) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int prepared = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &raw, &rest);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  if (prepared != SQLITE_OK) {
    const std::string_view said = sqlite3_errmsg(db_);
    const bool isCut = said == "incomplete input";
    const int at = isCut ? static_cast<int>(sql.size()) : sqlite3_error_offset(db_);
    return prof::Error{explained(std::string(said), at < 0 ? "" : placeOf(sql, static_cast<std::size_t>(at)))};
  }
  if (!statement)
    return prof::Error{"SQL: the statement is empty; try SELECT name, count(*) FROM kernel GROUP BY name"};
  std::string_view tail(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (tail.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return prof::Error{"SQL: one statement at a time; there is text after the first ';'"};
  }
  if (sqlite3_stmt_readonly(statement.get()) == 0)
    return prof::Error{"SQL: a query only reads; WITH name AS (SELECT …) holds what a table would"};
  const int count = sqlite3_column_count(statement.get());
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(sqlite3_column_name(statement.get(), i));
  const DamageWatch watch(*store_);
  std::vector<QueryValue> values(static_cast<std::size_t>(count));
  int stepped = sqlite3_step(statement.get());
  if (stepped != SQLITE_ROW && stepped != SQLITE_DONE) return prof::Error{explained(sqlite3_errmsg(db_))};
  if (count == 0) return prof::Error{"SQL: a query is a statement that has a result, such as SELECT"};
  columns(names);
  for (; stepped == SQLITE_ROW; stepped = sqlite3_step(statement.get())) {
    for (int i = 0; i < count; ++i) {
      QueryValue& value = values[static_cast<std::size_t>(i)];
      const int type = sqlite3_column_type(statement.get(), i);
      // Infinity is no number to the formats that results are printed in.
      const bool isNumber =
          type == SQLITE_INTEGER || (type == SQLITE_FLOAT && std::isfinite(sqlite3_column_double(statement.get(), i)));
      value.kind = type == SQLITE_NULL ? QueryValue::Kind::Null
                   : isNumber          ? QueryValue::Kind::Number
                                       : QueryValue::Kind::Text;
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), i));
      value.text = text == nullptr
                       ? std::string_view()
                       : std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), i)));
    }
    if (!row(values)) return watch.status();
  }
  if (stepped != SQLITE_DONE) return prof::Error{explained(sqlite3_errmsg(db_))};
  return watch.status();
}

}  // namespace lacuna::analyzer
