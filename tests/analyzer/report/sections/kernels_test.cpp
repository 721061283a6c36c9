// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "rules/words.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(KernelsSection, KernelsAreCalledByTheirPlainNames) {
  EXPECT_EQ(plainName("void at::native::(anonymous namespace)::multi_tensor<4, float>(int, float)"),
            "at::native::multi_tensor");
  EXPECT_EQ(plainName("ampere_sgemm_128x64"), "ampere_sgemm_128x64");
}

TEST(KernelsSection, AddsUpKernelsByNameCostliestFirst) {
  const Analysis analysis = test::SmallTrace()
                                .kernel(0, 100'000, "relu")
                                .kernel(100'000, 400'000, "gemm")
                                .kernel(400'000, 500'000, "gemm")
                                .analysed();
  const Table kernels = reportTable(analysis, "kernels");
  ASSERT_EQ(kernels.rows.size(), 2U);
  // 300 and 100 of 500 ms; the other one has the rest.
  EXPECT_THAT(
      cellsOf(kernels, 0, {"name", "count", "total_ns", "share", "mean_ns", "min_ns", "max_ns"}),
      ElementsAre("gemm", "2", "400 ms", "80.0 %", "200 ms", "100 ms", "300 ms"));
  EXPECT_THAT(
      cellsOf(kernels, 1, {"name", "count", "total_ns", "share", "mean_ns", "min_ns", "max_ns"}),
      ElementsAre("relu", "1", "100 ms", "20.0 %", "100 ms", "100 ms", "100 ms"));
  EXPECT_THAT(
      sectionText(analysis, "kernels"),
      ContainsRegex("\n gemm +2 +400 ms +80\\.0 % +200 ms\n relu +1 +100 ms +20\\.0 % +100 ms\n"));
  EXPECT_EQ(jsonAt(analysis, "/kernels/0/total_ns"), "400000000");
  EXPECT_EQ(jsonAt(analysis, "/kernels/0/share"), "0.8");
  EXPECT_EQ(jsonAt(analysis, "/kernels/0/min_ns"), "100000000");
}

TEST(KernelsSection, TheOverviewHasTheFiveCostliest) {
  Analysis analysis = withSteps(1);
  for (int i = 1; i <= 6; ++i) {
    KernelRow& row = analysis.of<KernelTable>().emplace_back();
    row.name = "kernel_" + std::to_string(i);
    row.count = 1;
    row.totalNs = 7'000 - 1'000 * i;
  }
  EXPECT_THAT(renderText(analysis), HasSubstr("\n kernel_5 "));
  EXPECT_THAT(renderText(analysis), Not(HasSubstr("kernel_6")));
  EXPECT_THAT(sectionText(analysis, "kernels"), HasSubstr("\n kernel_6 "));
}

TEST(KernelsSection, WithoutKernelsStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "kernels"), "\nKernels\n none were recorded\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/kernels"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
