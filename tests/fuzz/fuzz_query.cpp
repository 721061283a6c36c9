// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/json_text.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "query/sql_rules.h"
#include "support/random_store.h"
#include "support/temp_dir.h"

/// Any text as a statement against a store that never changes, and its report: in memory, and from
/// a file whose tables are read block by block. Both must end within the limits, give valid text,
/// and leave no file behind.
namespace {

using namespace lacuna;
using analyzer::Query;
using analyzer::QueryValue;

constexpr unsigned kSeed = 7;
constexpr unsigned kRows = 24;
constexpr auto kTimeLimit = std::chrono::milliseconds(400);
/// Time of the processor. One step of SQLite looks at no clock: values that are small keep it
/// short.
constexpr auto kMostTime = 10 * kTimeLimit;
constexpr long long kMostMemory = 3 << 20;
constexpr std::uint64_t kMostResultRows = 2000;
/// Every so many statements all rows of the stores are read again.
constexpr std::uint64_t kStatementsBetweenChecks = 2000;

void must(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_query: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// A text in every form in which it may be printed.
void mustPrint(std::string_view text) {
  const std::string line = analyzer::oneLine(text);
  must(analyzer::validUtf8(line) == line && line.find('\n') == std::string::npos,
       "a text is not printed as one line");
  must(analyzer::json::isValid(analyzer::jsonText(text)), "a text is not printed as JSON");
  std::string field;
  analyzer::appendCsvText(field, text);
  must(text.empty() || !field.empty(), "a text is not printed as CSV");
}

void mustPrint(const QueryValue& value) {
  if (value.kind == QueryValue::Kind::Null) return must(value.text.empty(), "NULL has a text");
  if (value.kind == QueryValue::Kind::Text) return mustPrint(value.text);
  must(analyzer::json::isNumber(value.text), "a number is not printed as one");
}

std::string allRows(const analyzer::Store& store) {
  std::string all;
  prof::forEachTable([&]<class Row>() {
    for (const std::string& row : test::rowsAsText<Row>(store)) all += row + '\n';
  });
  return all;
}

/// A store, what asks it, and what it held at first.
class Asked {
 public:
  Asked(std::shared_ptr<const analyzer::Store> store, std::uint64_t mostKeptRows)
      : store_(std::move(store)), query_(store_, mostKeptRows), before_(allRows(*store_)) {
    query_.setTimeLimit(kTimeLimit);
    query_.add(analyzer::reportTablesOf(store_));
  }

  /// True when it was answered.
  bool ask(std::string_view sql) {
    const std::clock_t begun = std::clock();
    std::size_t columns = 0;
    std::uint64_t rows = 0;
    const prof::Status status = query_.run(
        sql,
        [&](const std::vector<std::string>& names) {
          must(std::exchange(columns, names.size()) == 0 && !names.empty(),
               "columns are named twice, or never");
          for (const std::string& name : names) mustPrint(name);
        },
        [&](const std::vector<QueryValue>& values) {
          must(values.size() == columns, "a row has more or fewer values than there are columns");
          for (const QueryValue& value : values) mustPrint(value);
          return ++rows < kMostResultRows;
        });
    const auto took = std::chrono::milliseconds((std::clock() - begun) * 1000 / CLOCKS_PER_SEC);
    must(took < kMostTime, "a statement runs far beyond the time limit");
    must(status.ok() || status.error().message.starts_with("SQL: "),
         "a statement fails without a reason");
    return status.ok();
  }
  void mustBeUnchanged() const {
    must(allRows(*store_) == before_, "a statement changed the store");
  }

 private:
  std::shared_ptr<const analyzer::Store> store_;
  Query query_;
  std::string before_;
};

/// Everything that may be written goes to a folder of its own, which stays empty.
class Fixture {
 public:
  Fixture() {
    sqlite3_hard_heap_limit64(kMostMemory);
    const auto store = test::randomStore(kSeed, kRows, test::hostileTexts());
    must(analyzer::exportTrace(*store, files_ / "trace.lcn", analyzer::Format::Lcn).ok(),
         "the trace is not written");
    auto opened = analyzer::Store::open(files_ / "trace.lcn");
    must(opened.ok(), "the trace is not opened");
    bytes_ = bytesOfFile();
    kept_ = std::make_unique<Asked>(store, analyzer::kMostKeptRows);
    inBlocks_ = std::make_unique<Asked>(*std::move(opened), 0);
    for (const char* name : {"HOME", "TMPDIR", "SQLITE_TMPDIR", "XDG_CACHE_HOME"})
      ::setenv(name, empty_.path().c_str(), 1);
    before_ = std::filesystem::current_path();
    // Within the limits there is room for this; otherwise nothing below would be reached.
    constexpr std::string_view kSound =
        "SELECT k.name, count(*), sum(k.durNs) FROM kernel k JOIN queue q ON q.id = k.queue GROUP "
        "BY 1 ORDER BY 3 DESC";
    must(kept_->ask(kSound) && inBlocks_->ask(kSound), "a sound statement is not answered");
  }

  void ask(std::string_view sql) {
    std::filesystem::current_path(empty_.path());
    kept_->ask(sql);
    inBlocks_->ask(sql);
    std::filesystem::current_path(before_);
    must(std::filesystem::is_empty(empty_.path()), "a statement wrote a file");
    if (++asked_ % kStatementsBetweenChecks == 1) check();
  }

 private:
  [[nodiscard]] std::string bytesOfFile() const {
    std::ifstream file(files_ / "trace.lcn", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void check() const {
    kept_->mustBeUnchanged();
    inBlocks_->mustBeUnchanged();
    must(bytesOfFile() == bytes_, "a statement changed the trace");
  }

  test::TempDir files_, empty_;
  std::filesystem::path before_;
  std::string bytes_;
  std::unique_ptr<Asked> kept_, inBlocks_;
  std::uint64_t asked_ = 0;
};

/// The words of SQL, the functions that a statement may call, and the names of tables and columns.
void writeWords(const std::filesystem::path& path) {
  std::ofstream file(path);
  const auto add = [&](std::string_view word) { file << '"' << word << "\"\n"; };
  for (int i = 0; i < sqlite3_keyword_count(); ++i) {
    const char* word = nullptr;
    int bytes = 0;
    if (sqlite3_keyword_name(i, &word, &bytes) == SQLITE_OK)
      add(" " + std::string(word, static_cast<std::size_t>(bytes)) + " ");
  }
  for (const analyzer::SqlFunctions& group : analyzer::allowedSqlFunctions()) {
    for (const std::string_view name : group.names)
      add(name.starts_with('-') ? name : std::string(name) + "(");
  }
  for (const prof::TableSpec& table : prof::allTables()) {
    add(table.name);
    for (const prof::ColumnSpec& column : std::span(table.columns, table.columnCount))
      add(column.name);
  }
  for (const analyzer::Table& table : analyzer::reportTables({})) {
    add(analyzer::sqlNameOf(table));
    for (const analyzer::ColumnInfo& column : table.columns) add(column.key);
  }
  for (const char* word :
       {"collective", "rowid", "pragma_table_info(", "json_each(", "sqlite_master", "x'00'"})
    add(word);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  static test::TempDir folder;
  static const std::string dictionary = "-dict=" + (folder / "words").string();
  writeWords(folder / "words");
  static std::vector<char*> all(*words, *words + *count);
  all.push_back(const_cast<char*>(dictionary.c_str()));
  *count = static_cast<int>(all.size());
  all.push_back(nullptr);
  *words = all.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fixture fixture;
  fixture.ask({reinterpret_cast<const char*>(data), size});
  return 0;
}
