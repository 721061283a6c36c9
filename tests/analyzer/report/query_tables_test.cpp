// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "analyses/work/kernels.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/table.h"
#include "support/sql_answer.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using test::sqlAnswer;
using testing::HasSubstr;
using testing::StartsWith;

class ReportTablesInSql : public testing::Test {
 protected:
  ReportTablesInSql() { query_.add(reportTablesOf(store_)); }
  std::string ask(std::string_view sql) { return sqlAnswer(query_, sql); }

  std::shared_ptr<const Store> store_ =
      test::makeRun({.batchNs = 20'000'000, .pageableCopyNs = 2'000'000});
  Query query_{store_};
};

TEST_F(ReportTablesInSql, HoldTheRowsOfTheReport) {
  const Analysis analysis = *analyse(store_);
  std::string kernels;
  for (const KernelRow& row : analysis.of<KernelTable>())
    kernels += fmt::format("{} {} {} \n", row.name, row.count, row.totalNs);
  EXPECT_EQ(ask("SELECT name, count, total_ns FROM report_kernels"), kernels);
  std::string findings;
  for (const Finding& finding : analysis.of<Findings>())
    findings += fmt::format("{} {} \n", findingKey(finding.id), finding.costNsPerStep);
  EXPECT_FALSE(findings.empty());
  EXPECT_EQ(ask("SELECT id, cost_ns_per_step FROM report_findings"), findings);
}

TEST_F(ReportTablesInSql, CanAllBeRead) {
  const Analysis analysis = *analyse(store_);
  for (const Table& table : reportTables(analysis)) {
    EXPECT_EQ(ask(fmt::format("SELECT count(*) FROM (SELECT * FROM {})", sqlNameOf(table))),
              fmt::format("{} \n", table.rows.size()))
        << table.key;
  }
}

TEST_F(ReportTablesInSql, JoinTheTablesOfTheTrace) {
  EXPECT_EQ(ask("SELECT count(*) FROM report_kernels r WHERE r.count != (SELECT count(*) FROM "
                "kernel k WHERE k.name = r.name)"),
            "0 \n");
  EXPECT_EQ(ask("SELECT a.name FROM report_kernels a JOIN report_kernels b USING (name) WHERE "
                "a.count != b.count"),
            "");
}

TEST_F(ReportTablesInSql, KeepTheirTypes) {
  EXPECT_EQ(ask("SELECT DISTINCT typeof(name), typeof(count), typeof(share) FROM report_kernels"),
            "text integer real \n");
}

TEST_F(ReportTablesInSql, AreNamedWhereATableIsNotFound) {
  EXPECT_THAT(ask("SELECT * FROM report_kernel"),
              HasSubstr("`lacuna query --schema` lists all tables, also those of the report"));
}

TEST_F(ReportTablesInSql, CannotBeWritten) {
  EXPECT_THAT(ask("DELETE FROM report_kernels"),
              StartsWith("error: SQL: table report_kernels may not be modified"));
}

TEST(ReportTables, HaveListsAsJsonAndNothingAsNull) {
  const auto store = test::makeRun({});
  ReportTables tables;
  tables.columns = {
      {.key = "row",
       .about = "",
       .columns = {{"names", "", ColumnKind::Name, ""}, {"bytes", "", ColumnKind::Bytes, ""}},
       .rows = {},
       .place = "row"}};
  tables.load = [columns = tables.columns](std::string_view,
                                           const Progress&) -> prof::Result<Table> {
    Table table = columns[0];
    table.rows = {{TextList{"gemm", "a \"softmax\" of many letters"}, TableCell()},
                  {TextList{}, std::uint64_t{7}}};
    return table;
  };
  Query query(store);
  query.add(std::move(tables));
  EXPECT_EQ(sqlAnswer(query, "SELECT j.value, bytes FROM report_row, json_each(names) j"),
            "gemm - \na \"softmax\" of many letters - \n");
  EXPECT_EQ(sqlAnswer(query, "SELECT names, bytes FROM report_row WHERE bytes IS NOT NULL"),
            "[] 7 \n");
}

TEST(ReportTables, ATraceThatCannotBeAnalysedIsAnErrorOfTheirStatementsAlone) {
  StoreBuilder empty;
  const auto store = empty.build();
  Query query(store);
  query.add(reportTablesOf(store));
  EXPECT_THAT(sqlAnswer(query, "SELECT * FROM report_kernels"), StartsWith("error: SQL: "));
  EXPECT_EQ(sqlAnswer(query, "SELECT count(*) FROM kernel"), "0 \n");
}

TEST(ReportTables, AreAnalysedOnce) {
  const auto store = test::makeRun({});
  ReportTables tables = reportTablesOf(store);
  int loads = 0, analysed = 0;
  const auto load = tables.load;
  tables.load = [&](std::string_view key, const Progress&) {
    ++loads;
    bool isAnalysed = false;
    auto made = load(key, [&](double) { return isAnalysed = true; });
    analysed += isAnalysed ? 1 : 0;
    return made;
  };
  Query query(store);
  query.add(std::move(tables));
  EXPECT_EQ(loads, 0) << "nothing has been read yet";
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(sqlAnswer(query, "SELECT count(*) FROM report_steps"),
                testing::Not(StartsWith("error")));
    EXPECT_THAT(sqlAnswer(query, "SELECT count(*) FROM report_kernels"),
                testing::Not(StartsWith("error")));
  }
  EXPECT_EQ(loads, 2) << "once a table";
  EXPECT_EQ(analysed, 1);
}

TEST(ReportTables, TheTimeLimitOfAQueryHoldsForTheirAnalysis) {
  const auto store = test::makeRun({});
  Query query(store);
  ReportTables tables = reportTablesOf(store);
  tables.load = [](std::string_view, const Progress& wanted) -> prof::Result<Table> {
    while (wanted(0)) {
    }
    return prof::Error{"cancelled"};
  };
  query.add(std::move(tables));
  query.setTimeLimit(std::chrono::milliseconds(20));
  EXPECT_THAT(sqlAnswer(query, "SELECT * FROM report_kernels"),
              HasSubstr("the time limit of a query"));
  EXPECT_EQ(query.stopped(), Query::Stop::TimeLimit);
}

}  // namespace
}  // namespace lacuna::analyzer
