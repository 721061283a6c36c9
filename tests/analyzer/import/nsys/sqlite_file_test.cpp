// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/sqlite_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/nsys/sqlite_log.h"
#include "lacuna/prof/budget.h"
#include "support/temp_dir.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

/// A database that statements made.
class MadeDatabase : public test::TempFile {
 public:
  explicit MadeDatabase(const std::vector<std::string>& statements) : TempFile(".sqlite") {
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
    for (const std::string& sql : statements) {
      EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    }
    sqlite3_close(db);
  }
  [[nodiscard]] std::unique_ptr<SqliteFile> open() const {
    auto file = SqliteFile::open(path());
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
    return file.ok() ? std::move(*file) : nullptr;
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

/// Column `column` of each row, as text.
std::vector<std::string> columnOf(SqliteRows& rows, int column) {
  std::vector<std::string> out;
  while (rows.next()) out.push_back(rows.isNull(column) ? "NULL" : std::string(rows.text(column)));
  return out;
}

TEST(SqliteFile, KnowsTablesAndTheirColumnsAndLeavesViewsAlone) {
  const MadeDatabase made({"CREATE TABLE t (a INTEGER, b TEXT, c INTEGER AS (a + 1))",
                           "CREATE TABLE \"o\"\"dd\" (\"x y\")",
                           "CREATE VIEW v AS SELECT a FROM t"});
  const auto file = made.open();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->tables(),
            (std::map<std::string, std::set<std::string>>{{"o\"dd", {"x y"}}, {"t", {"a", "b"}}}))
      << "a column that is calculated is not read";
  EXPECT_THAT(file->views(), ElementsAre("v"));
  EXPECT_TRUE(file->has("t"));
  EXPECT_FALSE(file->has("v") || file->has("T"));
  EXPECT_EQ(file->problem(), "");
  EXPECT_EQ(file->placeOfDamage(), "");
  SqliteRows view(*file, "v", {"a"});
  EXPECT_FALSE(view.next());
}

TEST(SqliteRows, GiveValuesByColumnInTheOrderOfTheFileOrAsAsked) {
  const MadeDatabase made(
      {"CREATE TABLE t (n, s)", "INSERT INTO t VALUES (2, 'two'), (1.5, NULL), ('7x', x'00ff')"});
  const auto file = made.open();
  SqliteRows rows(*file, "t", {"s", "missing", "n"});
  EXPECT_TRUE(rows.hasColumn(0) && !rows.hasColumn(1) && rows.hasColumn(2));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(2), 2);
  EXPECT_EQ(rows.text(0), "two");
  EXPECT_TRUE(rows.isText(0) && !rows.isText(2));
  EXPECT_TRUE(rows.isNull(1) && !rows.isNull(0));
  EXPECT_EQ(rows.integer(1), 0);
  EXPECT_EQ(rows.text(1), "");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(2), 1);
  EXPECT_EQ(rows.real(2), 1.5);
  EXPECT_TRUE(rows.isNull(0));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(2), 7);
  EXPECT_EQ(rows.text(0), "\0\xff"s) << "bytes are not cut at a zero";
  EXPECT_FALSE(rows.next());
  EXPECT_EQ(rows.problem(), "");
  SqliteRows ordered(*file, "t", {"n"}, "ORDER BY rowid DESC");
  EXPECT_THAT(columnOf(ordered, 0), ElementsAre("7x", "1.5", "2"));
}

TEST(SqliteRows, NamesOfTablesAndColumnsMayHoldAnything) {
  const MadeDatabase made({"CREATE TABLE \"a\"\"; DROP TABLE t; --\" (\"x\"\"y\")",
                           "INSERT INTO \"a\"\"; DROP TABLE t; --\" VALUES (5)"});
  const auto file = made.open();
  SqliteRows rows(*file, "a\"; DROP TABLE t; --", {"x\"y"});
  EXPECT_THAT(columnOf(rows, 0), ElementsAre("5"));
  EXPECT_EQ(rows.problem(), "");
}

TEST(SqliteRows, ATableThatIsNotThereHasNoRowsAndNoProblem) {
  const MadeDatabase made({"CREATE TABLE t (a)"});
  const auto file = made.open();
  for (const char* table : {"other", "t", ""}) {
    SqliteRows rows(*file, table, {"b"});
    EXPECT_FALSE(rows.hasColumn(0));
    EXPECT_FALSE(rows.next());
    EXPECT_EQ(rows.problem(), "");
  }
}

TEST(SqliteFile, WhatIsNoDatabaseIsAnErrorThatNamesTheFile) {
  const test::TempDir folder;
  for (const std::string& bytes : {"SQLite format 3\0and more"s, "no database at all"s, ""s}) {
    const test::TempFile made(".sqlite", bytes);
    const auto file = SqliteFile::open(made.path());
    ASSERT_FALSE(file.ok()) << bytes;
    EXPECT_THAT(file.error().message, testing::StartsWith(made.path().string() + ": "));
  }
  EXPECT_THAT(SqliteFile::open(folder / "none").error().message, HasSubstr("none"));
}

std::string gzipOf(const std::string& text) {
  const test::TempFile packed(".gz");
  gzFile out = gzopen(packed.path().c_str(), "wb1");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  std::ifstream in(packed.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SqliteFile, APackedDatabaseIsReadAlsoWhereItsHeaderAsksForALog) {
  const MadeDatabase made({"CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (2)"});
  std::string bytes = made.bytes();
  bytes[18] = bytes[19] = 2;
  const test::TempFile packed(".gz", gzipOf(bytes));
  const auto file = SqliteFile::open(packed.path());
  ASSERT_TRUE(file.ok()) << file.error().message;
  SqliteRows rows(**file, "t", {"a"});
  EXPECT_THAT(columnOf(rows, 0), ElementsAre("1", "2"));
  EXPECT_EQ((*file)->problem(), "");
}

TEST(SqliteFile, APackedDatabaseThatEndsEarlyOrIsBeyondTheBudgetIsRefused) {
  const MadeDatabase made({"CREATE TABLE t (a)"});
  const std::string packed = gzipOf(made.bytes());
  const test::TempFile cut(".gz", packed.substr(0, packed.size() - 4));
  EXPECT_THAT(SqliteFile::open(cut.path()).error().message,
              HasSubstr("the compressed data ends early"));
  const test::TempFile large(".gz", gzipOf(made.bytes() + std::string(3'000'000, '\0')));
  prof::Budget budget;
  ASSERT_TRUE(budget.raise("text=1M"));
  EXPECT_THAT(SqliteFile::open(large.path(), budget).error().message,
              HasSubstr("is beyond the budget"));
}

TEST(SqliteFile, ReadingADatabaseWithALogLeavesNoFileBesideIt) {
  const test::TempDir folder;
  const auto path = folder / "run.sqlite";
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &writer), SQLITE_OK);
  for (const char* sql : {"PRAGMA journal_mode = WAL", "CREATE TABLE t (a)",
                          "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO t VALUES (7)"}) {
    ASSERT_EQ(sqlite3_exec(writer, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }
  const auto filesBeside = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  };
  const auto before = filesBeside();
  const auto file = SqliteFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  SqliteRows rows(**file, "t", {"a"});
  EXPECT_THAT(columnOf(rows, 0), ElementsAre("7")) << "the row is in the log alone";
  EXPECT_EQ(filesBeside(), before);
  sqlite3_close(writer);
}

TEST(SqliteLog, AFolderHasRoomAsFarAsItsDiskGoes) {
  const test::TempDir folder;
  EXPECT_FALSE(hasRoom(folder.path(), std::uintmax_t{1} << 60));
  EXPECT_TRUE(hasRoom(folder / "none", std::uintmax_t{1} << 60))
      << "where nothing is known, the writing decides";
}

}  // namespace
}  // namespace lacuna::analyzer
