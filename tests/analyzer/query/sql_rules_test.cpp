// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/sql_rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/store.h"
#include "store/sqlite_guard.h"
#include "support/small_files.h"
#include "support/sql_answer.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;

std::shared_ptr<const Store> smallTrace() {
  StoreBuilder builder;
  builder.append(prof::Kernel{.startNs = 1, .durNs = 2, .name = builder.intern("gemm")});
  return builder.build();
}

std::string answer(std::string_view sql) {
  Query query(smallTrace());
  return test::sqlAnswer(query, sql);
}

std::set<std::string> allowed() {
  std::set<std::string> names;
  for (const SqlFunctions& group : allowedSqlFunctions())
    names.insert(group.names.begin(), group.names.end());
  return names;
}

TEST(SqlRules, ATokenizerIsNotTakenByItsAddress) {
  const std::string refusal = answer(
      "SELECT fts3_tokenizer('simple', X'4141414141414141'), (SELECT count(*) FROM "
      "pragma_table_info('fts3tokenize'))");
  EXPECT_THAT(refusal,
              HasSubstr("may not call the function fts3_tokenizer(); docs/query.md lists"));
  EXPECT_THAT(answer("SELECT hex(fts3_tokenizer('simple'))"),
              HasSubstr("may not call the function fts3_tokenizer()"))
      << "no address leaves the process";
}

/// A call of every function that SQLite has, with as many arguments as it takes.
TEST(SqlRules, EveryFunctionThatIsNotListedIsRefused) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  sqlite3_stmt* list = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT DISTINCT name, narg FROM pragma_function_list", -1,
                               &list, nullptr),
            SQLITE_OK);
  const std::set<std::string> known = allowed();
  Query query(smallTrace());
  int refused = 0;
  while (sqlite3_step(list) == SQLITE_ROW) {
    const std::string name = reinterpret_cast<const char*>(sqlite3_column_text(list, 0));
    if (known.contains(name)) continue;
    std::string arguments;
    for (int i = 0; i < sqlite3_column_int(list, 1); ++i) arguments += i > 0 ? ", 1" : "1";
    EXPECT_THAT(test::sqlAnswer(query, fmt::format("SELECT \"{}\"({})", name, arguments)),
                HasSubstr(fmt::format("may not call the function {}()", name)));
    ++refused;
  }
  sqlite3_finalize(list);
  sqlite3_close(db);
  EXPECT_GT(refused, 5);
}

TEST(SqlRules, TheDocsListTheFunctions) {
  std::ostringstream page;
  page << std::ifstream(LACUNA_DOCS "/query.md").rdbuf();
  for (const SqlFunctions& group : allowedSqlFunctions()) {
    const std::set<std::string> names(group.names.begin(), group.names.end());
    std::string row = fmt::format("| {} |", group.group);
    for (const std::string& name : names)
      row += fmt::format("{} `{}`", name == *names.begin() ? "" : ",", name);
    EXPECT_THAT(page.str(), HasSubstr(row + " |\n"));
  }
}

TEST(SqlRules, AStatementReadsAndNothingElse) {
  for (const char* sql :
       {"PRAGMA journal_mode", "PRAGMA temp_store_directory = '/tmp'",
        "SELECT * FROM pragma_function_list", "BEGIN", "SAVEPOINT x", "DETACH main",
        "UPDATE sqlite_master SET sql = ''", "CREATE VIRTUAL TABLE t USING fts4(x)",
        "CREATE TEMP VIEW v AS SELECT 1", "ANALYZE", "REINDEX", "SELECT * FROM fts3tokenize",
        "SELECT * FROM dbstat", "SELECT * FROM sqlite_stmt", "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')"}) {
    EXPECT_THAT(answer(sql), HasSubstr("error: SQL: ")) << sql;
  }
  EXPECT_THAT(answer("PRAGMA journal_mode"), HasSubstr("may not use PRAGMA journal_mode"));
  EXPECT_EQ(answer("SELECT name FROM pragma_table_info('clock') LIMIT 1"), "timeNs \n");
  EXPECT_EQ(answer("SELECT value FROM json_each('[4, 5]')"), "4 \n5 \n");
  EXPECT_EQ(answer("SELECT sum(column1) OVER (ORDER BY column1) FROM (VALUES (1), (2))"),
            "1 \n3 \n");
}

TEST(SqlRules, ValuesAndStatementsAreBounded) {
  EXPECT_THAT(answer("SELECT length(replace(printf('%9000000d', 1), ' ', '123456789'))"),
              HasSubstr("at most 64 MiB"));
  EXPECT_THAT(answer("SELECT '" + std::string(2 << 20, 'x') + "'"),
              HasSubstr("at most 1048576 are read"));
}

/// Each of these stands for two of the one before, and SQLite writes all of them out.
TEST(SqlRules, MemoryIsBounded) {
  std::string doubled = "WITH t0 AS (SELECT 1 UNION ALL SELECT 2)";
  for (int i = 1; i < 30; ++i)
    doubled += fmt::format(", t{0} AS (SELECT 1 FROM t{1} x, t{1} y)", i, i - 1);
  Query query(smallTrace());
  EXPECT_EQ(sqlite3_hard_heap_limit64(-1), kMostSqlMemory);
  sqlite3_hard_heap_limit64(32 << 20);
  EXPECT_THAT(test::sqlAnswer(query, doubled + " SELECT count(*) FROM t29"),
              HasSubstr("or than the 32 MiB that SQLite may use"));
  EXPECT_EQ(answer("SELECT 7"), "7 \n");
  EXPECT_EQ(sqlite3_hard_heap_limit64(-1), 32 << 20) << "the program's own limit stays";
  sqlite3_hard_heap_limit64(0);
}

/// 6 MB each, beyond SQLite's cache: of a sort, of distinct values, of a table that is kept.
const std::string kLargeStatements[] = {
    "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY t) AS n FROM big)",
    "SELECT count(*) FROM (SELECT DISTINCT t FROM big)",
    "SELECT (SELECT count(*) FROM kept) + (SELECT count(*) FROM kept) - 30000",
};
std::string overLargeTable(const std::string& statement) {
  return "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 30000), big AS "
         "(SELECT printf('%0200d', x * 7919 % 30011) AS t FROM c), kept AS MATERIALIZED (SELECT t "
         "FROM big) " +
         statement;
}

TEST(SqlRules, TemporaryFilesAreBounded) {
  Query query(smallTrace());
  for (const std::string& statement : kLargeStatements) {
    query.setTemporaryLimit(2 << 20);
    EXPECT_EQ(test::sqlAnswer(query, overLargeTable(statement)),
              "error: SQL: stopped at 2 MiB of temporary files, the limit of a query; sort, group "
              "or keep fewer rows and columns")
        << statement;
    EXPECT_EQ(query.stopped(), Query::Stop::TemporaryLimit);
    query.setTemporaryLimit(20 << 20);
    // The memory of a statement is free again: four of them would be beyond the limit.
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(test::sqlAnswer(query, overLargeTable(statement)), "30000 \n") << statement;
    EXPECT_EQ(query.stopped(), Query::Stop::None);
  }
}

TEST(SqlRules, AFolderWithoutTemporaryFilesIsNamedWithTheRemedy) {
  Query query(smallTrace());
  const test::SmallFiles none(0);
  const std::string refusal = test::sqlAnswer(query, overLargeTable(kLargeStatements[1]));
  EXPECT_THAT(refusal, HasSubstr("error: SQL: temporary files cannot be written"));
  EXPECT_THAT(refusal, HasSubstr("set TMPDIR"));
}

}  // namespace
}  // namespace lacuna::analyzer
