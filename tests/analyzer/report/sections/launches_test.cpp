// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/table.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(LaunchesSection, ShowsHowLongLaunchingTakes) {
  const Analysis analysis = threeLaunches();
  // Calls of 10, 20 and 30 µs, with 10, 90 and 30 µs from their end to the start. The second kernel
  // is shorter than its call and was launched while the first one waited. The device waits for the
  // third launch from 200 to 260, of 340 µs.
  EXPECT_THAT(
      sectionText(analysis, "launches", 120),
      StartsWith("\nLaunches\n"
                 " 3 launches; call 20.0 µs (median), from its end to the start 30.0 µs\n"
                 " 66.7 % found an empty queue, 33.3 % launched work shorter than the call; 0.3 in "
                 "the queue on average\n"
                 " launch-bound: the device waits 60.0 µs in all for launches (17.6 % of it)\n"));
  EXPECT_EQ(jsonAt(analysis, "/launches/count"), "3");
  EXPECT_EQ(jsonAt(analysis, "/launches/median_call_ns"), "20000");
  EXPECT_EQ(jsonAt(analysis, "/launches/median_delay_ns"), "30000");
  EXPECT_EQ(jsonAt(analysis, "/launches/shorter_than_call"), "1");
  EXPECT_EQ(jsonAt(analysis, "/launches/found_queue_empty"), "2");
  EXPECT_EQ(jsonAt(analysis, "/launches/unmatched"), "0");
}

TEST(LaunchesSection, ShowsWhatWaitsInEachQueue) {
  const Analysis analysis = threeLaunches();
  // The kernels wait from 0 to 20, from 10 to 120 and from 200 to 260 µs: 190 µs together. At least
  // one waits for 180 of the trace's 360 µs.
  const Table queues = reportTable(analysis, "queue_lengths");
  ASSERT_EQ(queues.rows.size(), 1U);
  EXPECT_THAT(
      cellsOf(queues, 0,
              {"device", "queue", "launches", "mean", "max", "max_at_ns", "span_ns", "waiting_ns"}),
      ElementsAre("cuda:0", "stream 7", "3", "0.5", "2", "10.0 µs", "360 µs", "180 µs"));
  EXPECT_THAT(sectionText(analysis, "launches"),
              ContainsRegex("\n cuda:0 stream 7 +3 +0\\.53 +2 +50\\.0 % +0\\.0 %\n"));
  EXPECT_EQ(jsonAt(analysis, "/queue_lengths/0/mean"), "0.527778");
  EXPECT_EQ(jsonAt(analysis, "/queue_lengths/0/full_ns"), "0");
  EXPECT_EQ(jsonAt(analysis, "/queue_lengths/0/curve/0"), R"({"time_ns":0,"max":1})");
}

TEST(LaunchesSection, CountsTheLaunchesOfAStep) {
  Analysis analysis = withSteps(4);
  analysis.of<LaunchStats>().launches = 40;
  analysis.of<LaunchStats>().stepLaunches = 36;
  for (Ledger& step : analysis.ledgers.steps) {
    step = {};
    step.add(Cause::Compute, 8'000'000);
    step.add(Cause::Launch, 2'000'000);
  }
  const std::string text = sectionText(analysis, "launches");
  EXPECT_THAT(text, HasSubstr("\n 40 launches, 9 a step; "));
  EXPECT_THAT(
      text,
      HasSubstr("\n launch-bound: the device waits 2.00 ms a step for launches (20.0 % of it)\n"));
}

TEST(LaunchesSection, DeviceWorkWithoutAnyCallsBlamesNoneOfThem) {
  // As --cuda kernels records it: three kernels with 100 µs between them.
  const Analysis analysis = test::SmallTrace()
                                .kernel(0, 100, "gemm", 1)
                                .kernel(200, 300, "gemm", 2)
                                .kernel(400, 500, "gemm", 3)
                                .analysed();
  const Ledger& run = analysis.ledgers.run;
  EXPECT_EQ(run[Cause::Compute], 300'000);
  EXPECT_EQ(run[Cause::Unknown], 200'000);
  for (const Cause cause : {Cause::Launch, Cause::Synchronisation, Cause::DriverCall})
    EXPECT_EQ(run[cause], 0) << causeLabel(cause);
  EXPECT_EQ(analysis.of<LaunchStats>().foundQueueEmpty, 0u);
  EXPECT_EQ(jsonAt(analysis, "/launches/unmatched"), "3");
  EXPECT_THAT(sectionText(analysis, "launches", 200),
              HasSubstr("launches, waits and memory are not visible"));
  for (const Finding& finding : analysis.of<Findings>())
    EXPECT_THAT(finding.title, testing::Not(HasSubstr("launch"))) << finding.title;
}

TEST(LaunchesSection, WithoutLaunchesStatesIt) {
  const Analysis unlaunched =
      test::SmallTrace().call(0, 1, "cudaFree").kernel(0, 10, "gemm").analysed();
  EXPECT_EQ(sectionText(unlaunched, "launches"),
            "\nLaunches\n no launch could be joined to device work\n");
  EXPECT_EQ(jsonAt(unlaunched, "/launches/unmatched"), "1");
  EXPECT_EQ(jsonAt(withoutResults(), "/launches/count"), "0");
  EXPECT_EQ(jsonAt(withoutResults(), "/queue_lengths"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
