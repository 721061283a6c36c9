// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(RangesSection, ProjectsRangesOnTheWorkLaunchedInThem) {
  // One range of 100 µs launches kernels from 50 to 150 and from 200 to 250 µs, one of 60 µs a
  // kernel of 100 µs. A third one launches nothing.
  const Analysis analysis = test::SmallTrace()
                                .range(0, 100, "forward")
                                .launched(10, 20, 50, 150, "first")
                                .launched(30, 40, 200, 250, "second")
                                .range(300, 360, "forward")
                                .launched(310, 320, 400, 500, "third")
                                .range(400, 450, "idle")
                                .analysed();
  const Table ranges = reportTable(analysis, "projected_ranges");
  ASSERT_EQ(ranges.rows.size(), 1U);
  EXPECT_THAT(
      cellsOf(ranges, 0,
              {"name", "count", "work", "host_ns", "projected_ns", "busy_ns", "min_ns", "max_ns"}),
      ElementsAre("forward", "2", "3", "160 µs", "300 µs", "250 µs", "100 µs", "200 µs"));
  EXPECT_EQ(jsonAt(analysis, "/projected_ranges/0/projected_ns"), "300000");
  EXPECT_EQ(jsonAt(analysis, "/projected_ranges/0/work"), "3");
  EXPECT_THAT(
      sectionText(analysis, "ranges"),
      ContainsRegex("\nRanges on the device\n.*\n forward +2 +3 +160 µs +300 µs +250 µs\n"));
}

TEST(RangesSection, TheLongestOnTheDeviceIsFirst) {
  const Analysis analysis = test::SmallTrace()
                                .range(0, 100, "forward")
                                .launched(10, 20, 50, 150, "first")
                                .range(200, 300, "backward")
                                .launched(210, 220, 300, 600, "second")
                                .analysed();
  const Table ranges = reportTable(analysis, "projected_ranges");
  ASSERT_EQ(ranges.rows.size(), 2U);
  EXPECT_THAT(cellsOf(ranges, 0, {"name", "projected_ns"}), ElementsAre("backward", "300 µs"));
  EXPECT_THAT(cellsOf(ranges, 1, {"name", "projected_ns"}), ElementsAre("forward", "100 µs"));
}

TEST(RangesSection, WithoutRangesShowsHowToMarkThem) {
  EXPECT_THAT(withoutBreaks(sectionText(withoutResults(), "ranges")),
              HasSubstr(" the trace holds nothing of it; mark phases with NVTX ranges "
                        "(torch.profiler.record_function in PyTorch)"));
  EXPECT_EQ(jsonAt(withoutResults(), "/projected_ranges"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
