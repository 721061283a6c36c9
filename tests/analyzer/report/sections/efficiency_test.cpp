// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/efficiency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(EfficiencySection, CountsTheArithmeticOfAnOperatorByItsShapes) {
  // A product of 128×64 and 64×128 takes 2 · 128 · 64 · 128 = 2,097,152 operations, and moves 8,192
  // + 8,192 + 16,384 values of four bytes: 131,072 B. Its kernel takes 100 µs, so that is 21.0
  // GFLOP/s and 1.31 GB/s.
  const Analysis analysis = test::SmallTrace()
                                .range(0, 20, "aten::mm", "cpu_op", "[[128, 64], [64, 128]]")
                                .launched(5, 15, 30, 130, "gemm")
                                .analysed();
  const Table roofline = reportTable(analysis, "roofline");
  ASSERT_EQ(roofline.rows.size(), 1U);
  EXPECT_EQ(roofline.number(0, roofline.columnOf("flops")), 2'097'152);
  EXPECT_THAT(cellsOf(roofline, 0, {"name", "count", "device_ns", "bytes", "of_roof", "bound"}),
              ElementsAre("aten::mm", "1", "100 µs", "128 KiB", "", "unknown"));
  EXPECT_THAT(
      sectionText(analysis, "efficiency"),
      ContainsRegex(
          "\n aten::mm \\[\\[128, 64\\], \\[64, 128\\]\\] +100 µs +21\\.0 GFLOP/s +1\\.31 GB/s\n"));
  EXPECT_EQ(jsonAt(analysis, "/efficiency/operators/0/device_ns"), "100000");
  EXPECT_EQ(jsonAt(analysis, "/efficiency/operators/0/of_roof"), "-1");
  EXPECT_EQ(jsonAt(analysis, "/efficiency/matrix_ns"), "100000");
}

/// 10 ms of matrix kernels, three quarters of them on tensor cores, and two operators of 10 ms with
/// a roof.
Analysis withARoof() {
  Analysis analysis = withSteps(10);
  EfficiencyStats& stats = analysis.of<EfficiencyStats>();
  stats.matrixNs = 10'000'000;
  stats.tensorCoreNs = 7'500'000;
  stats.nsByNumber[static_cast<std::size_t>(Number::F32)] = 2'500'000;
  stats.nsByNumber[static_cast<std::size_t>(Number::F16)] = 7'500'000;
  stats.occupancy = 0.5;
  stats.mfu = 0.25;
  stats.peaks.source = "Testcard";
  RooflineRow row;
  row.name = "aten::mm";
  row.count = 4;
  row.deviceNs = 10'000'000;
  row.demand = {.flops = 2e12, .bytes = 1e10, .number = Number::F16};
  row.ofRoof = 0.4;
  stats.rows.push_back(row);
  row.name = "aten::add";
  row.demand = {.flops = 0, .bytes = 2e10, .number = Number::F32};
  row.ofRoof = 0.8;
  row.memoryBound = true;
  stats.rows.push_back(row);
  return analysis;
}

TEST(EfficiencySection, ShowsHowNearOperatorsComeToTheRoof) {
  const Analysis analysis = withARoof();
  const std::string text = sectionText(analysis, "efficiency");
  // 2 T operations in 10 ms; 10 and 20 GB in as long.
  EXPECT_THAT(
      text, ContainsRegex("\n aten::mm +10\\.0 ms +200 TFLOP/s +1\\.00 TB/s +40\\.0 % compute\n"));
  EXPECT_THAT(text, ContainsRegex("\n aten::add +10\\.0 ms +2\\.00 TB/s +80\\.0 % memory\n"));
  EXPECT_THAT(
      cellsOf(reportTable(analysis, "roofline"), 0, {"count", "number", "of_roof", "bound"}),
      ElementsAre("4", "f16", "40.0 %", "compute"));
  EXPECT_EQ(jsonAt(analysis, "/efficiency/operators/1/bound"), R"("memory")");
  EXPECT_EQ(jsonAt(analysis, "/efficiency/operators/1/of_roof"), "0.8");
}

TEST(EfficiencySection, ShowsHowMuchOfTheMatrixTimeIsOnTensorCores) {
  const Analysis analysis = withARoof();
  const std::string text = withoutBreaks(sectionText(analysis, "efficiency"));
  EXPECT_THAT(text, HasSubstr("matrix kernels: 75.0 % of their 10.0 ms on tensor cores; by number "
                              "type f32 25.0 %, f16 75.0 %"));
  EXPECT_THAT(text, HasSubstr("occupancy 50.0 % over kernel time"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "MFU at least 25.0 % (peaks of Testcard), from operators whose arithmetic is known"));
  EXPECT_EQ(jsonAt(analysis, "/efficiency/tensor_core_ns"), "7500000");
  EXPECT_EQ(jsonAt(analysis, "/efficiency/occupancy"), "0.5");
  EXPECT_EQ(jsonAt(analysis, "/efficiency/mfu"), "0.25");
  EXPECT_EQ(jsonAt(analysis, "/efficiency/peaks_of"), R"("Testcard")");
}

TEST(EfficiencySection, ListsAHundredOperatorsAtMost) {
  Analysis analysis = withSteps(1);
  analysis.of<EfficiencyStats>().rows.resize(101);
  EXPECT_EQ(reportTable(analysis, "roofline").rows.size(), 100U);
}

TEST(EfficiencySection, WithoutArithmeticStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "efficiency"),
            "\nEfficiency\n the trace holds nothing of it\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/efficiency/operators"), "[]");
  EXPECT_EQ(jsonAt(withoutResults(), "/efficiency/mfu"), "-1");
}

}  // namespace
}  // namespace lacuna::analyzer
