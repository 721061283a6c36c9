// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lacuna/analyzer/text.h"
#include "query/collective_table.h"
#include "query/query_rows.h"
#include "query/report_tables.h"
#include "query/sql_rules.h"
#include "query/temporary_files.h"
#include "query/virtual_table.h"
#include "store/sqlite_guard.h"

namespace lacuna::analyzer {
namespace {

/// arg_value(type, value): the value in a row of table arg. Nothing for what no row holds.
void argValue(sqlite3_context* context, int, sqlite3_value** values) {
  const Store& store = **static_cast<std::shared_ptr<const Store>*>(sqlite3_user_data(context));
  const sqlite3_int64 type = sqlite3_value_int64(values[0]);
  const sqlite3_int64 value = sqlite3_value_int64(values[1]);
  const auto is = [&](prof::ArgType wanted) { return type == static_cast<sqlite3_int64>(wanted); };
  if (is(prof::ArgType::Bool) || is(prof::ArgType::I64))
    return sqlite3_result_int64(context, value);
  if (is(prof::ArgType::F64)) return sqlite3_result_double(context, std::bit_cast<double>(value));
  const bool isText = is(prof::ArgType::Text) || is(prof::ArgType::Json);
  if (!isText || value < 0 || value >= store.stringCount()) return sqlite3_result_null(context);
  const std::string_view text = store.text(prof::StringId(static_cast<std::uint32_t>(value)));
  sqlite3_result_text(context, text.data() == nullptr ? "" : text.data(),
                      static_cast<int>(text.size()), SQLITE_STATIC);
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
  const auto character =
      1 + std::count_if(sql.begin(), sql.begin() + static_cast<std::ptrdiff_t>(at),
                        [](char c) { return !isInsideCharacter(c); });
  return fmt::format(" (at character {}: {}{}⟶{}{})", character, begin > 0 ? "…" : "",
                     oneLine(before), oneLine(after), at + after.size() < sql.size() ? "…" : "");
}

/// The progress handler runs after so many steps of SQLite's machine, some microseconds.
constexpr int kStepsBetweenChecks = 1000;

/// SQLite and its extensions offer tables of their own. A query gets only those that read a JSON
/// text.
void keepOnly(sqlite3* db) {
  static const char* const kKept[] = {"json_each", "json_tree", nullptr};
  sqlite3_drop_modules(db, const_cast<const char**>(kKept));
}

/// A query touches no file but temporary ones, and SQLite's words for what befalls these speak of
/// databases.
std::string problemOfFiles(int code) {
  constexpr std::string_view kRemedy =
      "set TMPDIR to another folder, or sort, group or keep fewer rows and columns";
  if ((code & 0xff) == SQLITE_FULL)
    return fmt::format("SQL: the folder of temporary files has no room left; {}", kRemedy);
  if ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_IOERR)
    return fmt::format("SQL: temporary files cannot be written ({}); {}", sqlite3_errstr(code),
                       kRemedy);
  return {};
}

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

QueryValue valueOf(sqlite3_stmt* statement, int column) {
  using Kind = QueryValue::Kind;
  const int type = sqlite3_column_type(statement, column);
  // Infinity is no number to the formats that results are printed in.
  const bool isNumber =
      type == SQLITE_INTEGER ||
      (type == SQLITE_FLOAT && std::isfinite(sqlite3_column_double(statement, column)));
  QueryValue value;
  value.kind = type == SQLITE_NULL ? Kind::Null : isNumber ? Kind::Number : Kind::Text;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  if (text != nullptr)
    value.text = {text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
  return value;
}

}  // namespace

struct Query::Rules : SqlRules {};

Query::Query(std::shared_ptr<const Store> store, std::uint64_t mostKeptRows)
    : store_(std::move(store)),
      rules_(std::make_unique<Rules>()),
      files_(std::make_unique<TemporaryFiles>()) {
  files_->setMost(kMostTemporaryBytes);
  if (files_->name() == nullptr ||
      sqlite3_open_v2(":memory:", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                      files_->name()) != SQLITE_OK) {
    return;
  }
  hardenSqlite(db_);
  keepOnly(db_);
  registerTables(db_, *store_, mostKeptRows);
  registerCollectives(db_, *store_);
  sqlite3_create_function_v2(db_, "arg_value", 2, SQLITE_UTF8, &store_, argValue, nullptr, nullptr,
                             nullptr);
  rules_->applyTo(db_);
  sqlite3_progress_handler(db_, kStepsBetweenChecks, watch, this);
}

void Query::add(ReportTables tables) {
  if (db_ == nullptr) return;
  for (const Table& table : tables.columns) reportTables_.push_back(sqlNameOf(table));
  registerReportTables(db_, std::make_shared<const ReportTables>(std::move(tables)),
                       [this](double) { return watch(this) == 0; });
}

Query::~Query() {
  sqlite3_close(db_);
}

std::vector<std::string> Query::tableNames() const {
  std::vector<std::string> names;
  for (const prof::TableSpec& table : prof::allTables()) names.emplace_back(table.name);
  names.emplace_back(kCollectiveTable);
  names.insert(names.end(), reportTables_.begin(), reportTables_.end());
  return names;
}

void Query::setTemporaryLimit(std::uint64_t bytes) {
  files_->setMost(bytes);
}

void Query::interrupt() {
  isInterrupted_ = true;
  sqlite3_interrupt(db_);
}

int Query::watch(void* self) {
  auto& query = *static_cast<Query*>(self);
  if (query.isInterrupted_) query.stop_ = Stop::Interrupted;
  if (query.stop_ == Stop::None && Clock::now() >= query.endsAt_) query.stop_ = Stop::TimeLimit;
  return static_cast<int>(query.stop_ != Stop::None);
}

prof::Error Query::failed(const std::string& place) {
  if (files_->isExceeded()) stop_ = Stop::TemporaryLimit;
  if (isInterrupted_) stop_ = Stop::Interrupted;
  if (stop_ == Stop::TimeLimit) {
    return {fmt::format("SQL: stopped after {} s, the time limit of a query",
                        static_cast<double>(timeLimit_.count()) / 1000)};
  }
  if (stop_ == Stop::Interrupted) return {"SQL: interrupted"};
  if (stop_ == Stop::TemporaryLimit) {
    return {
        fmt::format("SQL: stopped at {} MiB of temporary files, the limit of a query; sort, group "
                    "or keep fewer rows and columns",
                    files_->most() >> 20)};
  }
  if (!rules_->refusal().empty()) return {"SQL: " + rules_->refusal()};
  if ((sqlite3_errcode(db_) & 0xff) == SQLITE_NOMEM) {
    return {fmt::format(
        "SQL: the query needs more memory than there is, or than the {} MiB that SQLite may use; "
        "group or filter rows before it joins texts, or ask for fewer columns",
        sqlite3_hard_heap_limit64(-1) >> 20)};
  }
  if (const std::string problem = problemOfFiles(sqlite3_errcode(db_)); !problem.empty())
    return {problem};
  return {explained(sqlite3_errmsg(db_), place)};
}

std::string Query::explained(const std::string& message, const std::string& place) const {
  std::string known;
  if (message.starts_with("no such table")) {
    for (const prof::TableSpec& table : prof::allTables()) {
      if (store_->rows(static_cast<std::size_t>(&table - prof::allTables().data())) == 0) continue;
      known += fmt::format("{}{}", known.empty() ? "; tables with rows: " : ", ", table.name);
    }
    known += "; `lacuna query --schema` lists all tables, also those of the report";
  } else if (message.starts_with("no such column")) {
    known =
        "; docs/schema.md lists the columns, and so does SELECT name FROM "
        "pragma_table_info('range')";
  } else if (message.starts_with("string or blob too big")) {
    known = fmt::format("; a value has at most {} MiB", kMostSqlBytes >> 20);
  } else if (!place.empty()) {
    known =
        "; docs/query.md has examples, and `lacuna query --schema` lists the tables and their "
        "columns";
  }
  return "SQL: " + message + place + known;
}

/// The one statement of `sql`, which the caller has to finalize.
prof::Result<sqlite3_stmt*> Query::prepared(std::string_view sql) {
  if (db_ == nullptr)
    return prof::Error{"SQL: there is no memory left to run a query in; close other programs"};
  const int most = sqlite3_limit(db_, SQLITE_LIMIT_SQL_LENGTH, -1);
  if (sql.size() > static_cast<std::size_t>(most))
    return prof::Error{
        fmt::format("SQL: the statement has {} bytes; at most {} are read", sql.size(), most)};
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &raw, &rest);
  Statement statement(raw, sqlite3_finalize);
  if (code != SQLITE_OK) {
    const bool isCut = std::string_view(sqlite3_errmsg(db_)) == "incomplete input";
    const int at = isCut ? static_cast<int>(sql.size()) : sqlite3_error_offset(db_);
    return failed(at < 0 ? "" : placeOf(sql, static_cast<std::size_t>(at)));
  }
  if (!statement)
    return prof::Error{
        "SQL: the statement is empty; try SELECT name, count(*) FROM kernel GROUP BY name"};
  const std::string_view tail(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (tail.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return prof::Error{"SQL: one statement at a time; there is text after the first ';'"};
  }
  if (sqlite3_stmt_readonly(raw) == 0)
    return prof::Error{"SQL: a query only reads; WITH name AS (SELECT …) holds what a table would"};
  return statement.release();
}

prof::Result<std::unique_ptr<QueryRows>> Query::start(std::string_view sql) {
  rules_->reset();
  files_->reset();
  stop_ = Stop::None;
  endsAt_ = timeLimit_.count() == 0 ? Clock::time_point::max() : Clock::now() + timeLimit_;
  const auto made = prepared(sql);
  if (!made) return made.error();
  return std::make_unique<QueryRows>(*this, *made);
}

prof::Status Query::run(std::string_view sql,
                        const std::function<void(const std::vector<std::string>&)>& columns,
                        const std::function<bool(const std::vector<QueryValue>&)>& row) {
  const auto started = start(sql);
  if (!started) return started.status();
  QueryRows& rows = **started;
  auto more = rows.next();
  if (!more) return more.status();
  columns(rows.names());
  std::vector<QueryValue> values(static_cast<std::size_t>(rows.columns()));
  for (; more && *more; more = rows.next()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = valueOf(rows.statement(), static_cast<int>(i));
    if (!row(values)) return rows.damage();
  }
  return more.status();
}

QueryRows::QueryRows(Query& query, sqlite3_stmt* statement)
    : query_(query), statement_(statement, sqlite3_finalize), watch_(*query.store_) {}

prof::Result<bool> QueryRows::next() {
  const int stepped = sqlite3_step(statement());
  if (stepped != SQLITE_ROW && stepped != SQLITE_DONE) return query_.failed();
  if (columns() == 0)
    return prof::Error{"SQL: a query is a statement that has a result, such as SELECT"};
  if (stepped == SQLITE_ROW) return true;
  if (const prof::Status status = damage(); !status) return status.error();
  return false;
}

std::vector<std::string> QueryRows::names() const {
  std::vector<std::string> names;
  for (int i = 0; i < columns(); ++i) names.emplace_back(sqlite3_column_name(statement(), i));
  return names;
}

std::vector<std::string> distinctNames(const std::vector<std::string>& names) {
  const auto isIn = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<std::string> distinct;
  for (const std::string& name : names) {
    std::string key = name;
    for (int n = 2; isIn(distinct, key) || (key != name && isIn(names, key)); ++n)
      key = fmt::format("{}_{}", name, n);
    distinct.push_back(std::move(key));
  }
  return distinct;
}

}  // namespace lacuna::analyzer
