// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/table.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;

TEST(CallsSection, AddsUpCallsByNameCostliestFirst) {
  // 300 and 200 µs of one call, 400 µs of another, which an operator makes.
  const Analysis analysis = test::SmallTrace()
                                .call(0, 300, "cudaMalloc")
                                .call(400, 600, "cudaMalloc")
                                .range(690, 1'110, "aten::item", "cpu_op")
                                .call(700, 1'100, "cudaStreamSynchronize")
                                .analysed();
  const Table calls = reportTable(analysis, "calls");
  ASSERT_EQ(calls.rows.size(), 2U);
  EXPECT_THAT(cellsOf(calls, 0, {"name", "count", "total_ns", "caller"}),
              ElementsAre("cudaMalloc", "2", "500 µs", ""));
  EXPECT_THAT(cellsOf(calls, 1, {"name", "count", "total_ns", "caller"}),
              ElementsAre("cudaStreamSynchronize", "1", "400 µs", "aten::item"));
  EXPECT_EQ(jsonAt(analysis, "/calls/0/total_ns"), "500000");
  EXPECT_EQ(jsonAt(analysis, "/calls/1/caller"), "\"aten::item\"");
  EXPECT_THAT(
      sectionText(analysis, "calls"),
      ContainsRegex("\n cudaMalloc +2 +500 µs\n cudaStreamSynchronize +1 +400 µs  aten::item\n"));
}

TEST(CallsSection, ShowsWhatRecordingAddedBesideTheTotal) {
  Analysis analysis = withSteps(1);
  analysis.ledgers.bands.run.add(Cause::DriverCall, 1'000'000);
  CallRow& row = analysis.of<CallTable>().emplace_back();
  row.name = "cudaMalloc";
  row.count = 4;
  row.totalNs = 10'000'000;
  row.recordingNs = 1'000'000;
  // A tenth.
  EXPECT_THAT(sectionText(analysis, "calls"), ContainsRegex("\n cudaMalloc +4 +10\\.0 ms ±10 %\n"));
  EXPECT_THAT(cellsOf(reportTable(analysis, "calls"), 0, {"recording_ns"}), ElementsAre("±10 %"));
}

TEST(CallsSection, WithoutCallsStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "calls"),
            "\nCalls\n no driver or synchronising calls were recorded\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/calls"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
