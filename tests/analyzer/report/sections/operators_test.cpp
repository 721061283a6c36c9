// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/prof/events.h"
#include "support/analysed_run.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(OperatorsSection, OperatorsAreDistinguishedBesideTheirMemory) {
  Analysis analysis = analysed({.leakBytes = 2 << 20});
  analysis.ledgers.bands.run.ns[0] = 1'000;
  analysis.of<OperatorTables>().byShapes.clear();
  for (const char* name :
       {"aten::convolution_backward f32[64,128,56,56]", "aten::convolution_overrideable f32[64,3]"})
    analysis.of<OperatorTables>().byShapes.emplace_back().name = name;
  const std::string narrow = renderText(analysis, {{"operators"}, 60, false});
  EXPECT_THAT(narrow, testing::AllOf(Not(HasSubstr("memory\n a")),
                                     HasSubstr("with --width 77 also: memory, own memory"),
                                     HasSubstr("backward"), HasSubstr("overrid")));
  const std::string wide = renderText(analysis, {{"operators"}, 77, false});
  EXPECT_THAT(wide, testing::AllOf(HasSubstr("own memory\n"), Not(HasSubstr("with --width")),
                                   HasSubstr("backward"), HasSubstr("overrid")));
}

TEST(OperatorsSection, SeparatesAnOperatorsOwnTimeFromThatOfOthersInIt) {
  // An operator of 100 µs calls another one for 60 µs of it, which keeps 1 MiB and launches 200 µs
  // of work.
  const Analysis analysis = test::SmallTrace()
                                .range(0, 100, "aten::linear", "cpu_op")
                                .range(10, 70, "aten::addmm", "cpu_op", "[[8, 4]]")
                                .launched(20, 30, 200, 400, "gemm")
                                .memory(40, prof::MemoryAction::Allocate, 1 << 30, 1 << 20)
                                .analysed();
  const Table names = reportTable(analysis, "operator_names");
  ASSERT_EQ(names.rows.size(), 2U);
  EXPECT_THAT(
      cellsOf(
          names, 0,
          {"name", "calls", "host_ns", "host_self_ns", "device_ns", "mem_bytes", "self_mem_bytes"}),
      ElementsAre("aten::addmm", "1", "60.0 µs", "60.0 µs", "200 µs", "1.00 MiB", "1.00 MiB"));
  EXPECT_THAT(cellsOf(names, 1,
                      {"name", "calls", "host_ns", "host_self_ns", "device_ns", "mem_bytes",
                       "self_mem_bytes"}),
              ElementsAre("aten::linear", "1", "100 µs", "40.0 µs", "0 ns", "1.00 MiB", "0 B"));
  EXPECT_THAT(cellsOf(reportTable(analysis, "operators"), 0, {"name", "shapes"}),
              ElementsAre("aten::addmm", "[[8, 4]]"));
  EXPECT_EQ(jsonAt(analysis, "/operators/1/host_self_ns"), "40000");
  EXPECT_EQ(jsonAt(analysis, "/operator_names/0/device_ns"), "200000");
  const std::string text = sectionText(analysis, "operators", 120);
  EXPECT_THAT(text, ContainsRegex("\n aten::addmm \\[\\[8, 4\\]\\] +1 +60\\.0 µs +60\\.0 µs +200 "
                                  "µs +1\\.00 MiB +1\\.00 MiB\n"));
  EXPECT_THAT(text,
              ContainsRegex("\n aten::linear +1 +100 µs +40\\.0 µs +0 ns +1\\.00 MiB +0 B\n"));
}

TEST(OperatorsSection, CallsOfOneNameAreDistinguishedByTheirShapes) {
  const Analysis analysis = test::SmallTrace()
                                .range(0, 100, "aten::mm", "cpu_op", "[[8, 4]]")
                                .range(200, 400, "aten::mm", "cpu_op", "[[16, 4]]")
                                .analysed();
  EXPECT_THAT(cellsOf(reportTable(analysis, "operator_names"), 0, {"name", "calls", "host_ns"}),
              ElementsAre("aten::mm", "2", "300 µs"));
  const Table byShapes = reportTable(analysis, "operators");
  ASSERT_EQ(byShapes.rows.size(), 2U);
  EXPECT_THAT(cellsOf(byShapes, 0, {"shapes", "calls", "host_ns"}),
              ElementsAre("[[16, 4]]", "1", "200 µs"));
  EXPECT_THAT(cellsOf(byShapes, 1, {"shapes", "calls", "host_ns"}),
              ElementsAre("[[8, 4]]", "1", "100 µs"));
}

TEST(OperatorsSection, WithoutOperatorsStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "operators"), "\nOperators\n none were recorded\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/operators"), "[]");
  EXPECT_EQ(jsonAt(withoutResults(), "/operator_names"), "[]");
  EXPECT_THAT(renderHtml(withoutResults()), Not(HasSubstr(">Operators<")));
}

}  // namespace
}  // namespace lacuna::analyzer
