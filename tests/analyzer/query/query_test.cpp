// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/query.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/writer.h"
#include "support/random_store.h"
#include "support/sql_answer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;

std::shared_ptr<const Store> trace() {
  StoreBuilder builder;
  for (int i = 0; i < 1000; ++i) {
    prof::Kernel kernel;
    kernel.startNs = i * 10;
    kernel.durNs = i % 3;
    kernel.correlation = static_cast<std::uint64_t>(i);
    kernel.name = builder.intern(i % 2 == 0 ? "gemm" : "relu");
    builder.append(kernel);
    prof::ApiCall call;
    call.startNs = i * 10 - 4;
    call.correlation = static_cast<std::uint64_t>(i);
    call.name = builder.intern("launch");
    builder.append(call);
  }
  return builder.build();
}

/// The rows as lines of values.
std::string ask(std::string_view sql, const std::shared_ptr<const Store>& store = trace(),
                std::uint64_t mostKeptRows = kMostKeptRows) {
  Query query(store, mostKeptRows);
  query.add(reportTablesOf(store));
  return test::sqlAnswer(query, sql);
}

TEST(Query, GroupsAndJoins) {
  EXPECT_EQ(ask("SELECT name, count(*), sum(durNs) FROM kernel GROUP BY name"),
            "gemm 500 500 \nrelu 500 499 \n");
  EXPECT_EQ(ask("SELECT count(*), min(k.startNs - a.startNs) FROM api_call a JOIN kernel k USING "
                "(correlation)"),
            "1000 4 \n");
}

TEST(Query, CollectivesAreATableThatJoinsKernels) {
  using namespace prof;  // NOLINT: rows of every table
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  builder.append(Queue{.id = QueueId(1), .process = ProcessId(1)});
  for (const TimeNs at : {100, 200}) {
    const auto text =
        fmt::format("NCCL communicator ID=171 Message size [bytes]={} Reduction operation=Sum", at);
    builder.append(Range{.startNs = at,
                         .durNs = 20,
                         .thread = ThreadId(1),
                         .domain = builder.intern("NCCL"),
                         .name = builder.intern("ncclAllReduce"),
                         .text = builder.intern(text)});
    builder.append(ApiCall{
        .startNs = at + 5, .thread = ThreadId(1), .correlation = static_cast<std::uint64_t>(at)});
    builder.append(Kernel{.startNs = at + 50,
                          .durNs = 10,
                          .queue = QueueId(1),
                          .correlation = static_cast<std::uint64_t>(at),
                          .name = builder.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL()")});
    builder.append(Kernel{
        .startNs = at + 70, .durNs = 10, .queue = QueueId(1), .name = builder.intern("gemm")});
  }
  const auto store = builder.build();
  EXPECT_EQ(ask("SELECT kernel, startNs, kind, communicator, calls, bytes FROM collective", store),
            "0 150 all_reduce 0xab 1 100 \n2 250 all_reduce 0xab 1 200 \n");
  EXPECT_EQ(ask("SELECT k.name, c.bytes FROM kernel k LEFT JOIN collective c ON c.kernel = k.rowid",
                store),
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL() 100 \ngemm - "
            "\nncclDevKernel_AllReduce_Sum_f32_RING_LL() 200 \ngemm - \n");
  EXPECT_EQ(ask("SELECT count(*) FROM collective WHERE kernel = 'x' OR kernel = 1", store), "0 \n");
  EXPECT_EQ(ask("SELECT count(*) FROM collective"), "0 \n") << "a trace without any";
}

TEST(Query, BoundsOnTimeGiveTheSameRowsAsAFullScan) {
  for (const auto* condition :
       {"startNs > 500", "startNs >= 500", "startNs < 500", "startNs <= 500", "startNs = 500",
        "startNs > 500.5", "startNs BETWEEN 95 AND 105", "startNs > 10 AND startNs <= 40",
        "startNs > NULL", "startNs > 'x'", "startNs = 500.5", "startNs < -1e30",
        "startNs < 1e30"}) {
    std::string slow(condition);
    for (std::size_t at = 0; (at = slow.find("startNs", at)) != std::string::npos; at += 8)
      slow.replace(at, 7, "+startNs");
    EXPECT_EQ(ask(std::string("SELECT count(*), sum(correlation) FROM kernel WHERE ") + condition),
              ask("SELECT count(*), sum(correlation) FROM kernel WHERE " + slow))
        << condition;
  }
  EXPECT_EQ(ask("SELECT startNs FROM kernel WHERE rowid = 7"), "70 \n");
  EXPECT_EQ(ask("SELECT startNs FROM kernel WHERE rowid = -1"), "");
  EXPECT_EQ(ask("SELECT startNs FROM kernel WHERE startNs > 70 ORDER BY startNs LIMIT 2"),
            "80 \n90 \n");
}

/// A file of several blocks whose rows overlap, as those of several threads do.
std::shared_ptr<const Store> file(const test::TempDir& folder) {
  const auto path = folder / "t.lcn";
  auto writer = *prof::Writer::create(path);
  std::mt19937_64 random(5);
  for (int i = 0; i < 200'000; ++i) {
    writer.append(prof::Range{.startNs = i * 10 - static_cast<prof::TimeNs>(random() % 700'000),
                              .durNs = static_cast<prof::TimeNs>(random() % 100),
                              .thread = prof::ThreadId(1 + static_cast<std::uint32_t>(i % 3)),
                              .name = writer.intern(i % 7 == 0 ? "seventh" : "other")});
  }
  EXPECT_TRUE(writer.finish());
  return *Store::open(path);
}

TEST(Query, ALargeTableThatIsReadBlockByBlockGivesTheSameRows) {
  const test::TempDir folder;
  const auto store = file(folder);
  for (const auto* sql :
       {"SELECT name, count(*), sum(durNs), min(startNs), max(rowid) FROM range GROUP BY name",
        "SELECT count(*) FROM range", "SELECT * FROM range ORDER BY startNs LIMIT 3",
        "SELECT rowid, startNs FROM range WHERE startNs > 900000 LIMIT 5",
        "SELECT count(*), sum(rowid) FROM range WHERE startNs BETWEEN 300000 AND 500000",
        "SELECT count(*), sum(durNs) FROM range WHERE startNs <= -1000 OR startNs > 1900000",
        "SELECT startNs, durNs FROM range WHERE rowid = 123456",
        "SELECT count(*) FROM range WHERE startNs < NULL",
        "SELECT startNs FROM range WHERE startNs > 5000000",
        "SELECT startNs, rowid FROM range ORDER BY durNs DESC, rowid LIMIT 4",
        "SELECT count(*) FROM range a JOIN range b ON b.startNs = a.startNs + 1 WHERE a.startNs < "
        "2000",
        "SELECT sum(a.durNs - b.durNs) FROM range a JOIN range b ON b.rowid = a.rowid + 1 WHERE "
        "a.startNs > 1500000"}) {
    const std::string kept = ask(sql, store);
    EXPECT_EQ(ask(sql, store, 1000), kept) << sql;
    EXPECT_THAT(kept, testing::Not(HasSubstr("error"))) << sql;
  }
}

TEST(Query, JoinsOverManyRowsUseAnIndex) {
  // Two and a half thousand million pairs, were they compared one by one.
  constexpr int kRows = 50'000;
  StoreBuilder builder;
  for (int i = 0; i < kRows; ++i) {
    const auto correlation = static_cast<std::uint64_t>(i * 7919LL % kRows);
    builder.append(prof::ApiCall{.startNs = i * 10,
                                 .durNs = 5,
                                 .name = builder.intern("launch"),
                                 .correlation = correlation});
    builder.append(prof::Kernel{.startNs = (kRows - i) * 10,
                                .durNs = i % 10,
                                .correlation = static_cast<std::uint64_t>(i),
                                .name = builder.intern("k" + std::to_string(i % 100))});
    builder.append(prof::Overhead{.startNs = i, .name = builder.intern("k" + std::to_string(i))});
  }
  const auto store = builder.build();
  EXPECT_EQ(ask("SELECT count(*) FROM api_call a JOIN kernel k USING (correlation) WHERE k.durNs < "
                "a.durNs",
                store),
            "25000 \n");
  EXPECT_EQ(ask("SELECT count(*), sum(a.correlation = k.correlation), sum(k.durNs) FROM api_call a "
                "JOIN kernel k ON k.correlation = a.correlation",
                store),
            "50000 50000 225000 \n");
  EXPECT_EQ(ask("SELECT count(*) FROM kernel k JOIN overhead o ON o.name = k.name", store),
            "50000 \n");
  EXPECT_EQ(ask("SELECT count(*) FROM overhead o LEFT JOIN kernel k ON k.name = o.name WHERE "
                "k.name IS NULL",
                store),
            "49900 \n");
  EXPECT_EQ(ask("SELECT sum((SELECT k.durNs FROM kernel k WHERE k.correlation = a.correlation)) "
                "FROM api_call a",
                store),
            "225000 \n");
}

TEST(Query, IndexedRowsAreThoseThatAFullScanFinds) {
  StoreBuilder builder;
  for (const int i : {5, 3, 3, 9, 0, 5, 7}) {
    builder.append(prof::Kernel{.startNs = 10 - i,
                                .durNs = i,
                                .name = builder.intern(i == 0  ? ""
                                                       : i > 4 ? "a"
                                                               : "5")});
    builder.append(
        prof::Overhead{.startNs = i, .durNs = i, .name = builder.intern(i == 7 ? "b" : "A")});
  }
  const auto store = builder.build();
  for (const std::string key :
       {"x.v", "x.v + 0.5", "x.v * 1.0", "CAST(x.v AS TEXT)", "nullif(x.v, 5)", "x.v * 1e300",
        "upper(x.w)", "x.w", "lower(x.w) COLLATE NOCASE", "CAST(x.v AS BLOB)"}) {
    for (const std::string column : {"durNs", "name", "startNs"}) {
      const auto rows = [&](const std::string& sign) {
        return ask(
            "SELECT x.v, k.rowid FROM (SELECT durNs AS v, name AS w FROM overhead UNION ALL SELECT "
            "5, 'a' UNION ALL SELECT NULL, '') x JOIN kernel k ON " +
                sign + "k." + column + " = " + key + " ORDER BY 1, 2",
            store);
      };
      EXPECT_EQ(rows(""), rows("+")) << column << " = " << key;
    }
  }
}

TEST(Query, WritesNothing) {
  const test::TempDir folder;
  const std::string file = (folder / "x.db").string();
  for (const std::string& sql :
       {"ATTACH '" + file + "' AS y", "VACUUM INTO '" + file + "'",
        std::string("CREATE TABLE t(x)"), std::string("CREATE TEMP TABLE t(x)"),
        std::string("PRAGMA user_version = 3"), std::string("DROP TABLE kernel")}) {
    EXPECT_THAT(ask(sql), HasSubstr("error: SQL: ")) << sql;
    EXPECT_FALSE(std::filesystem::exists(file)) << sql;
  }
  EXPECT_THAT(ask("ATTACH '" + file + "' AS y"), HasSubstr("no other database"));
}

TEST(Query, NamesItsColumnsWhenItIsKnownToWork) {
  Query query(trace());
  int named = 0;
  const auto run = [&](std::string_view sql) {
    named = 0;
    return query.run(
        sql, [&](const auto&) { ++named; }, [](const auto&) { return true; });
  };
  for (const char* sql :
       {"ATTACH 'x.db' AS y", "SELECT abs(-9223372036854775808)", "BEGIN", "SELECT nothing"}) {
    EXPECT_FALSE(run(sql)) << sql;
    EXPECT_EQ(named, 0) << sql;
  }
  EXPECT_TRUE(run("SELECT 1 WHERE 0"));
  EXPECT_EQ(named, 1);
}

TEST(Query, InfinityIsNoNumber) {
  Query query(trace());
  const auto status = query.run(
      "SELECT 1e999, -1e999, 1.5, 2, NULL", [](const auto&) {},
      [](const std::vector<QueryValue>& row) {
        using enum QueryValue::Kind;
        const QueryValue::Kind kinds[] = {Text, Text, Number, Number, Null};
        for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i].kind, kinds[i]) << i;
        return true;
      });
  EXPECT_TRUE(status);
}

TEST(Query, ErrorsAreExplained) {
  EXPECT_THAT(ask("SELECT * FROM kernels"), HasSubstr("tables with rows: api_call, kernel"));
  EXPECT_THAT(ask("SELECT nme FROM kernel"), HasSubstr("at character 8"));
  EXPECT_THAT(ask("SELEKT"), HasSubstr("syntax error (at character 1: ⟶SELEKT); "));
  EXPECT_THAT(ask("SELECT 'ä' frm\nkernel k"),
              HasSubstr("(at character 16: SELECT 'ä' frm ⟶kernel k); "));
  EXPECT_THAT(ask("SELECT (1"), HasSubstr("incomplete input (at character 10: SELECT (1⟶); "));
  const std::string many =
      "SELECT " + std::string(60, '1') + " x frm kernel WHERE " + std::string(60, '2');
  EXPECT_THAT(ask(many),
              HasSubstr("(at character 71: …" + std::string(37, '1') + " x ⟶frm kernel WHERE 222"));
  EXPECT_THAT(ask(""), HasSubstr("empty"));
  EXPECT_THAT(ask("SELECT 1; SELECT 2"), HasSubstr("one statement"));
  EXPECT_THAT(ask("INSERT INTO kernel VALUES (1)"), HasSubstr("error"));
}

TEST(Query, ArgumentsReadAsWhatTheyAre) {
  StoreBuilder builder;
  const auto add = [&](prof::ArgType type, std::uint64_t value) {
    builder.append(prof::Arg{
        .set = prof::ArgSetId(1), .key = builder.intern("key"), .type = type, .value = value});
  };
  add(prof::ArgType::I64, 42);
  add(prof::ArgType::F64, std::bit_cast<std::uint64_t>(0.5));
  add(prof::ArgType::Text, builder.intern("default_pg").value);
  add(prof::ArgType::Json, builder.intern("[1, 2]").value);
  add(prof::ArgType::Null, 0);
  add(prof::ArgType::Text, 1'000'000);
  const auto store = builder.build();
  EXPECT_EQ(ask("SELECT arg_value(type, value) FROM arg", store),
            "42 \n0.5 \ndefault_pg \n[1, 2] \n- \n- \n");
  EXPECT_EQ(ask("SELECT count(*) FROM arg WHERE arg_value(type, value) = 'default_pg'", store),
            "1 \n");
  EXPECT_EQ(ask("SELECT arg_value(7, 1), arg_value(NULL, NULL), arg_value(260, 1)", store),
            "- - - \n");
}

/// The values that SQL is to give for a row, by its declaration.
template <class Row>
std::vector<std::string> declared(const Store& store, std::uint64_t number) {
  std::vector<std::string> values;
  const Row row = store.row<Row>(number);
  Row::forEachMember([&]<auto Member>() {
    const auto& value = row.*Member;
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, prof::StringId>) {
      values.emplace_back(store.text(value));
    } else if constexpr (std::is_same_v<T, double>) {
      values.push_back(fmt::format("{:.3f}", value));
    } else if constexpr (std::is_class_v<T>) {
      values.push_back(std::to_string(value.value));
    } else if constexpr (std::is_enum_v<T>) {
      values.push_back(std::to_string(static_cast<int>(value)));
    } else {
      values.push_back(std::to_string(value));
    }
  });
  return values;
}

TEST(Query, EveryColumnThatIsDeclaredIsAColumnOfItsTable) {
  const auto store = test::randomStore(7, 20);
  prof::forEachTable([&]<class Row>() {
    Query query(store);
    std::vector<std::string> names;
    std::vector<std::vector<std::string>> rows;
    const auto status = query.run(
        fmt::format("SELECT * FROM \"{}\"", Row::kName),
        [&](const auto& columns) { names = columns; },
        [&](const std::vector<QueryValue>& row) {
          auto& values = rows.emplace_back();
          for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string text(row[c].text);
            const bool real = Row::columns()[c].type == prof::ColumnType::F64;
            values.push_back(real ? fmt::format("{:.3f}", std::stod(text)) : text);
          }
          return true;
        });
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_EQ(names.size(), Row::columns().size()) << Row::kName;
    for (std::size_t c = 0; c < names.size(); ++c)
      EXPECT_EQ(names[c], Row::columns()[c].name) << Row::kName;
    ASSERT_EQ(rows.size(), store->rows<Row>()) << Row::kName;
    ASSERT_GT(rows.size(), 0u) << Row::kName;
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], declared<Row>(*store, i)) << Row::kName << i;
  });
}

TEST(Query, EveryWorkedQueryOfTheDocsRuns) {
  std::ostringstream page;
  page << std::ifstream(LACUNA_DOCS "/query.md").rdbuf();
  const std::string text = page.str();
  int count = 0;
  for (std::size_t at = 0; (at = text.find("```sql\n", at)) != std::string::npos; ++count) {
    at += 7;
    EXPECT_THAT(ask(text.substr(at, text.find("```", at) - at)), testing::Not(HasSubstr("error:")));
  }
  EXPECT_EQ(count, 21);
}

TEST(Query, TheSchemaPageIsUpToDate) {
  std::ostringstream page;
  page << std::ifstream(LACUNA_DOCS "/schema.md").rdbuf();
  EXPECT_EQ(page.str(), schemaPage(reportTables({})))
      << "run: lacuna query --schema > docs/schema.md";
}

}  // namespace
}  // namespace lacuna::analyzer
