// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/table.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lacuna::analyzer {

class QueryRows;
class TemporaryFiles;

/// A value of a result: its text, and whether it is a number or absent.
struct QueryValue {
  enum class Kind { Null, Number, Text } kind = Kind::Null;
  std::string_view text;
};

/// The tables of a report, whose rows are computed when a statement first reads them.
struct ReportTables {
  std::vector<Table> columns;  ///< all tables, without rows
  /// The table of this key, with its rows. It fails once `wanted` answers false.
  std::function<prof::Result<Table>(std::string_view key, const Progress& wanted)> load;
};
/// The name of a report's table in SQL: "report_kernels".
std::string sqlNameOf(const Table& reportTable);

/// Tables of a file with more rows are read block by block, those columns only that a statement
/// mentions.
inline constexpr std::uint64_t kMostKeptRows = 4'000'000;
/// The temporary files of a statement, all together.
inline constexpr std::uint64_t kMostTemporaryBytes = 8ULL << 30;

/// SQL over a store. Every table is an SQLite virtual table of the same name that reads the store's
/// columns in place, without copies. Conditions on a table's time column (and on the row number,
/// rowid) become a binary search. A file's large tables stay on disk, in bounded memory, unless a
/// join asks for their rows again and again. Columns that refer to texts read as text; columns that
/// refer to other rows are numbers. One thread at a time; keeps the store alive.
///
/// A statement may come from anyone: it selects, reads the trace's tables and calls the functions
/// that docs/query.md lists, and nothing else. Values, temporary files and SQLite's memory are
/// bounded (memory for the whole process, see docs/query.md); a program that sets
/// sqlite3_hard_heap_limit64() itself keeps its own limit.
class Query {
 public:
  explicit Query(std::shared_ptr<const Store> store, std::uint64_t mostKeptRows = kMostKeptRows);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  /// Lets statements read these, too. The time to compute them counts towards the time limit.
  void add(ReportTables tables);
  /// All tables that statements may read.
  [[nodiscard]] std::vector<std::string> tableNames() const;

  /// Runs one statement. `columns` is called once with the names, when the first row is there or it
  /// is known that there is none. `row` is called for each row; answering false ends the query. An
  /// error has SQLite's message, and the existing tables or columns when one was not found. It also
  /// names damage in the data read: then the rows given so far may be wrong.
  prof::Status run(std::string_view sql,
                   const std::function<void(const std::vector<std::string>&)>& columns,
                   const std::function<bool(const std::vector<QueryValue>&)>& row);

  /// Starts a statement whose rows are asked for, for exportStatement(). Internal.
  prof::Result<std::unique_ptr<QueryRows>> start(std::string_view sql);

  /// Makes a run() that is under way on another thread, and each later one, fail soon. The only
  /// call that may come from another thread, or from a signal handler.
  void interrupt();

  /// A run() that takes longer fails; 0 is no limit, and what holds at first.
  void setTimeLimit(std::chrono::milliseconds limit) { timeLimit_ = limit; }

  /// A run() whose temporary files outgrow this fails; 0 is no limit, and kMostTemporaryBytes is
  /// what holds at first.
  void setTemporaryLimit(std::uint64_t bytes);

  enum class Stop { None, Interrupted, TimeLimit, TemporaryLimit };
  /// Why the last run() was stopped, if a limit or somebody outside did it.
  [[nodiscard]] Stop stopped() const { return stop_; }

 private:
  friend QueryRows;
  struct Rules;
  using Clock = std::chrono::steady_clock;

  static int watch(void* self);
  prof::Result<sqlite3_stmt*> prepared(std::string_view sql);
  prof::Error failed(const std::string& place = {});
  [[nodiscard]] std::string explained(const std::string& message, const std::string& place) const;

  std::shared_ptr<const Store> store_;
  std::unique_ptr<Rules> rules_;
  std::unique_ptr<TemporaryFiles> files_;
  sqlite3* db_ = nullptr;
  std::vector<std::string> reportTables_;
  std::chrono::milliseconds timeLimit_{0};
  Clock::time_point endsAt_ = Clock::time_point::max();
  std::atomic<bool> isInterrupted_ = false;
  Stop stop_ = Stop::None;
};

/// The names of a result's columns with a number behind those that were there before: "name",
/// "name_2".
std::vector<std::string> distinctNames(const std::vector<std::string>& names);

/// The tables and columns as Markdown, also of a report's tables; docs/schema.md is made of it.
std::string schemaPage(std::span<const Table> reportTables);

}  // namespace lacuna::analyzer
