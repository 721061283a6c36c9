// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/arrow.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lacuna/analyzer/report.h"
#include "lacuna/prof/writer.h"
#include "support/arrow_rows.h"
#include "support/sql_answer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Store> kernels(int count) {
  StoreBuilder builder;
  for (int i = 0; i < count; ++i) {
    builder.append(prof::Kernel{
        .startNs = i * 10, .durNs = i % 3, .name = builder.intern(i % 2 == 0 ? "gemm" : "relu")});
  }
  return builder.build();
}

/// A stream of a statement, released at the end.
class Exported {
 public:
  explicit Exported(std::string_view sql, std::uint64_t batchRows = kArrowBatchRows,
                    const std::shared_ptr<const Store>& store = kernels(10))
      : status(exportStatement(std::make_unique<Query>(store), sql, stream, batchRows)) {}
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() {
    if (stream.release != nullptr) stream.release(&stream);
  }

  ArrowArrayStream stream{};
  prof::Status status;
};

std::string streamed(std::string_view sql, std::uint64_t batchRows = kArrowBatchRows) {
  Exported exported(sql, batchRows);
  if (!exported.status) return "error: " + exported.status.error().message;
  return test::ArrowReader(exported.stream).all();
}

std::vector<std::string> formats(std::string_view sql, std::uint64_t batchRows = kArrowBatchRows) {
  Exported exported(sql, batchRows);
  return test::ArrowReader(exported.stream).formats;
}

TEST(Arrow, ColumnsHaveTheTypesOfTheirTables) {
  EXPECT_THAT(formats("SELECT name, durNs, startNs FROM kernel"), ElementsAre("u", "l", "l"));
  EXPECT_THAT(formats("SELECT name, durNs FROM kernel WHERE durNs > 99"), ElementsAre("u", "l"))
      << "no row";
  EXPECT_THAT(formats("SELECT value FROM counter_sample"), ElementsAre("g"));
}

TEST(Arrow, ExpressionsGetTheNarrowestTypeOfTheFirstBatch) {
  EXPECT_THAT(formats("SELECT 1, 1.5, 'a', NULL, count(*) FROM kernel"),
              ElementsAre("l", "g", "u", "n", "l"));
  EXPECT_THAT(formats("VALUES (1, 1, 1.5), (2.5, 'a', NULL)"), ElementsAre("g", "u", "g"));
  EXPECT_EQ(streamed("VALUES (7, 1, 1.5), (2.5, 'a', NULL), (NULL, NULL, 2), (3, 0.5, -1)"),
            "7 1 1.5 \n2.5 a - \n- - 2 \n3 0.5 -1 \n");
  EXPECT_EQ(streamed("VALUES (NULL, NULL, NULL), (NULL, NULL, NULL), (1, 2.5, 'x')"),
            "- - - \n- - - \n1 2.5 x \n");
  EXPECT_EQ(streamed("VALUES (9007199254740993), (NULL), ('x')"), "9007199254740993 \n- \nx \n");
  EXPECT_EQ(streamed("VALUES (0.1), (1e300), ('x')"), "0.1 \n1.0e+300 \nx \n")
      << "numbers as SQLite writes them";
}

TEST(Arrow, ManyBatchesHoldTheRowsOfOne) {
  constexpr const char* kSql = "SELECT rowid, name, CASE WHEN rowid % 3 THEN durNs END FROM kernel";
  const std::string full = streamed(kSql);
  for (const std::uint64_t rows : {1, 2, 3, 7, 9, 10, 11}) {
    Exported exported(kSql, rows);
    test::ArrowReader reader(exported.stream);
    EXPECT_EQ(reader.all(), full) << rows;
    EXPECT_EQ(reader.batches, static_cast<int>((10 + rows - 1) / rows)) << rows;
    EXPECT_EQ(reader.next(), "end");
  }
}

TEST(Arrow, ABatchEndsWhereItsTextsAreLong) {
  Exported exported("SELECT printf('%.*c', 10000000, 'x') AS t FROM kernel");
  ArrowArray batch;
  std::int64_t rows = 0;
  int batches = 0;
  for (; exported.stream.get_next(&exported.stream, &batch) == 0 && batch.release != nullptr;
       ++batches) {
    EXPECT_LE(batch.length, 4);
    rows += batch.length;
    batch.release(&batch);
  }
  EXPECT_EQ(rows, 10);
  EXPECT_EQ(batches, 3);
}

TEST(Arrow, AColumnWithoutValuesBecomesTextWhereMoreRowsFollow) {
  EXPECT_THAT(formats("SELECT CASE WHEN rowid > 5 THEN durNs END FROM kernel", 3),
              ElementsAre("u"));
  EXPECT_EQ(
      streamed("SELECT CASE WHEN rowid = 5 THEN 7 WHEN rowid = 6 THEN 2.5 END FROM kernel", 3),
      "- \n- \n- \n- \n- \n7 \n2.5 \n- \n- \n- \n");
}

TEST(Arrow, LaterWholeNumbersFitIntoNumbersWithDecimals) {
  EXPECT_EQ(streamed("SELECT CASE WHEN rowid < 3 THEN 0.5 ELSE rowid END FROM kernel LIMIT 5", 2),
            "0.5 \n0.5 \n0.5 \n3 \n4 \n");
}

TEST(Arrow, ALaterValueOfAnotherKindIsAnErrorThatNamesTheRemedy) {
  EXPECT_THAT(streamed("SELECT CASE WHEN rowid < 4 THEN 1 ELSE 0.5 END AS half FROM kernel", 2),
              testing::AllOf(testing::StartsWith("1 \n1 \n1 \n1 \nerror: "), HasSubstr("'half'"),
                             HasSubstr("row 5"), HasSubstr("CAST(… AS REAL)")));
  EXPECT_THAT(streamed("SELECT CASE WHEN rowid < 4 THEN 1.5 ELSE 'x' END FROM kernel", 2),
              HasSubstr("CAST(… AS TEXT)"));
  Exported exported("SELECT CASE WHEN rowid < 4 THEN 1 ELSE 'x' END FROM kernel", 4);
  test::ArrowReader reader(exported.stream);
  reader.next();
  const std::string first = reader.next();
  EXPECT_THAT(first, HasSubstr("error: "));
  EXPECT_EQ(reader.next(), first) << "the error stays";
}

TEST(Arrow, AWrongStatementFailsBeforeThereIsAStream) {
  Exported exported("SELECT nothing FROM kernel");
  ASSERT_FALSE(exported.status);
  EXPECT_THAT(exported.status.error().message, HasSubstr("nothing"));
  EXPECT_EQ(exported.stream.release, nullptr);
  EXPECT_THAT(streamed("DELETE FROM kernel"), HasSubstr("error: SQL"));
  EXPECT_THAT(streamed(""), HasSubstr("empty"));
}

TEST(Arrow, AnErrorOfALaterRowEndsTheStream) {
  EXPECT_THAT(
      streamed(
          "SELECT CASE WHEN rowid < 5 THEN 1 ELSE abs(-9223372036854775807 - 1) END FROM kernel",
          2),
      testing::AllOf(testing::StartsWith("1 \n1 \n1 \n1 \nerror: "), HasSubstr("overflow")));
}

TEST(Arrow, BatchesAndColumnsOutliveTheStream) {
  Exported exported("SELECT name, durNs FROM kernel", 4);
  ArrowArray batch;
  ASSERT_EQ(exported.stream.get_next(&exported.stream, &batch), 0);
  exported.stream.release(&exported.stream);
  EXPECT_EQ(exported.stream.release, nullptr) << "so a second release is never called";
  ArrowArray name = *batch.children[0];  // moved out, as the specification allows
  batch.children[0]->release = nullptr;
  batch.release(&batch);
  EXPECT_EQ(test::arrowText(name, "u", 1), "relu");
  name.release(&name);
  EXPECT_EQ(name.release, nullptr);
}

TEST(Arrow, TextsAreUtf8AndNamesDiffer) {
  EXPECT_EQ(streamed("SELECT CAST(x'61ff62' AS TEXT), 'ä'"), "a\uFFFDb ä \n");
  Exported exported("SELECT 1 AS n, 2 AS n, 3 AS n_2");
  EXPECT_THAT(test::ArrowReader(exported.stream).names, ElementsAre("n", "n_3", "n_2"));
}

TEST(Arrow, ReportTablesAreRead) {
  const auto store = kernels(4);
  auto query = std::make_unique<Query>(store);
  query->add(reportTablesOf(store));
  ArrowArrayStream stream{};
  ASSERT_TRUE(exportStatement(std::move(query), "SELECT name, count FROM report_kernels", stream));
  EXPECT_THAT(test::ArrowReader(stream).all(), HasSubstr("gemm 2 \n"));
  stream.release(&stream);
}

/// All rows of a table, without SQL and with it.
void expectSameRows(const std::shared_ptr<const Store>& store, std::string_view name,
                    std::uint64_t batchRows) {
  std::size_t table = 0;
  while (prof::allTables()[table].name != name) ++table;
  ArrowArrayStream stream{};
  ASSERT_TRUE(exportTable(store, table, stream, batchRows));
  test::ArrowReader direct(stream);
  Exported exported(fmt::format("SELECT * FROM \"{}\"", name), batchRows, store);
  ASSERT_TRUE(exported.status) << exported.status.error().message;
  test::ArrowReader asked(exported.stream);
  EXPECT_EQ(direct.names, asked.names);
  EXPECT_EQ(direct.formats, asked.formats);
  EXPECT_EQ(direct.all(), asked.all()) << name;
  stream.release(&stream);
}

TEST(Arrow, ATableHasTheRowsOfSelectAll) {
  StoreBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.append(prof::Kernel{
        .startNs = 100 - i, .durNs = i, .name = builder.intern(fmt::format("k{}", i))});
    builder.append(prof::CounterSample{.timeNs = i, .value = i == 3 ? std::nan("") : i / 2.0});
    builder.append(
        prof::Memcpy{.startNs = i, .bytes = std::numeric_limits<std::uint64_t>::max() >> 20});
  }
  const auto store = builder.build();
  for (const prof::TableSpec& table : prof::allTables()) expectSameRows(store, table.name, 4);
}

TEST(Arrow, ATableOfAFileIsReadBlockByBlock) {
  const test::TempDir folder;
  const auto path = folder / "t.lcn";
  auto writer = *prof::Writer::create(path);
  for (int i = 0; i < 150'000; ++i) {
    writer.append(prof::Range{.startNs = i * 10 - i % 7 * 1000,
                              .durNs = i % 100,
                              .thread = prof::ThreadId(1 + static_cast<std::uint32_t>(i % 3)),
                              .name = writer.intern(i % 7 == 0 ? "seventh" : "other")});
  }
  ASSERT_TRUE(writer.finish());
  expectSameRows(*Store::open(path), "range", 70'000);
}

}  // namespace
}  // namespace lacuna::analyzer
