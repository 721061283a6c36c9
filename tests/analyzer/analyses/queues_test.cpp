// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyses/launch_index.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/bottleneck.h"
#include "lacuna/analyzer/projection.h"
#include "lacuna/analyzer/queue_length.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store_builder.h"
#include "support/synthetic_run.h"
#include "support/timeline_maker.h"

namespace lacuna::analyzer {
namespace {

using test::RunPlan;
using test::TimelineMaker;

constexpr prof::TimeWindow kHundred{0, 100};

std::vector<QueueLength> lengthsOf(const Timeline& timeline, prof::TimeWindow window = kHundred) {
  std::vector<QueueLength> lengths;
  addQueueLengths(timeline, LaunchIndex(timeline), window, kHundred, lengths);
  return lengths;
}

TEST(QueueLength, GrowsWithLaunchesAndShrinksWithStarts) {
  TimelineMaker m;
  // Launched at 0, 10 and 20; started at 5, 30 and 50: one waits for 5, one for 10, two for 10, one for 20.
  m.launch(1, 0, 1, 1).launch(1, 10, 11, 2).launch(1, 20, 21, 3);
  m.runs(1, 5, 30, 1).runs(1, 30, 50, 2).runs(1, 50, 60, 3);
  const auto lengths = lengthsOf(m.made);
  ASSERT_EQ(lengths.size(), 1U);
  const QueueLength& row = lengths[0];
  EXPECT_EQ(row.work, 3U);
  EXPECT_EQ(row.waitedNs, 5 + 10 + 2 * 10 + 20);
  EXPECT_DOUBLE_EQ(row.mean(), 0.55);
  EXPECT_EQ(row.most, 2U);
  EXPECT_EQ(row.mostAtNs, 20);
  EXPECT_EQ(row.waitingNs, 5 + 10 + 10 + 20);
  EXPECT_EQ(row.fullNs, 0);
  ASSERT_EQ(row.curve.size(), 100U);
  EXPECT_EQ(row.curve[3].most, 1U);
  EXPECT_EQ(row.curve[7].most, 0U);
  EXPECT_EQ(row.curve[25].most, 2U);
  EXPECT_EQ(row.curve[49].most, 1U);
  EXPECT_EQ(row.curve[60].most, 0U);
}

TEST(QueueLength, IsOfEachQueueAndTellsWhenOneIsFull) {
  TimelineMaker m;
  constexpr std::uint64_t kLaunches = kFullQueue + 1;
  for (std::uint64_t i = 1; i <= kLaunches; ++i) m.launch(1, 1, 2, i).runs(1, 50 + (i == kLaunches ? 20 : 0), 70, i);
  m.launch(2, 40, 41, kLaunches + 1).runs(2, 45, 50, kLaunches + 1);
  const auto lengths = lengthsOf(m.made);
  ASSERT_EQ(lengths.size(), 2U);
  EXPECT_EQ(lengths[0].most, kLaunches);
  EXPECT_EQ(lengths[0].fullNs, 49) << "from the launches at 1 to the starts at 50";
  EXPECT_EQ(lengths[0].waitingNs, 69);
  EXPECT_EQ(lengths[1].waitedNs, 5);
}

TEST(QueueLength, OfPiecesAddsUp) {
  TimelineMaker m;
  m.launch(1, 0, 1, 1).launch(1, 50, 51, 2).runs(1, 20, 30, 1).runs(1, 70, 80, 2);
  std::vector<QueueLength> pieces;
  for (const prof::TimeWindow window : {prof::TimeWindow{0, 50}, prof::TimeWindow{50, 100}})
    addQueueLengths(m.made, LaunchIndex(m.made), window, kHundred, pieces);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].waitedNs, lengthsOf(m.made)[0].waitedNs);
  EXPECT_EQ(pieces[0].work, 2U);
}

/// Names 1, 2, … of a timeline.
std::shared_ptr<const Store> named(std::initializer_list<const char*> names) {
  StoreBuilder builder;
  for (const char* name : names) (void)builder.intern(name);
  return builder.build();
}

TEST(Projection, IsFromTheFirstStartToTheLastEndOfWhatARangeLaunched) {
  TimelineMaker m;
  m.host(1, 0, 20, Activity::Annotation, 1);   // forward
  m.host(1, 2, 12, Activity::Annotation, 2);   // block, inside
  m.host(1, 30, 40, Activity::Annotation, 2);  // block, by itself
  m.host(2, 0, 50, Activity::Annotation, 3);   // another thread launches nothing
  m.launch(1, 3, 4, 1).launch(1, 10, 11, 2).launch(1, 15, 16, 3).launch(1, 31, 32, 4).launch(1, 60, 61, 5);
  m.runs(1, 10, 20, 1).runs(2, 15, 25, 2).runs(1, 40, 50, 3).runs(1, 60, 70, 4).runs(1, 80, 90, 5);
  const auto store = named({"forward", "block", "idle"});
  for (const std::vector<prof::TimeWindow>& windows :
       {std::vector<prof::TimeWindow>{{0, 100}}, {{0, 35}, {35, 65}, {65, 100}}}) {
    Projection projection;
    for (const prof::TimeWindow window : windows) projection.add(m.made, LaunchIndex(m.made), window, {}, *store);
    const auto rows = projection.take();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].name, "forward");
    EXPECT_EQ(rows[0].count, 1U);
    EXPECT_EQ(rows[0].work, 3U);
    EXPECT_EQ(rows[0].hostNs, 20);
    EXPECT_EQ(rows[0].projectedNs, 50 - 10);
    EXPECT_EQ(rows[0].busyNs, 15 + 10) << "two queues side by side count once";
    EXPECT_EQ(rows[1].name, "block");
    EXPECT_EQ(rows[1].count, 2U);
    EXPECT_EQ(rows[1].projectedNs, 15 + 10);
    EXPECT_EQ(rows[1].minNs, 10);
    EXPECT_EQ(rows[1].maxNs, 15);
  }
}

TEST(Calls, OfCallsInEachOtherTheOneThatWaitsHasTheCopy) {
  TimelineMaker m;
  m.host(1, 0, 100, Activity::Sync, 1, 7).host(1, 10, 20, Activity::Launch, 2, 7).runs(1, 15, 95, 7, Work::Copy);
  m.made.device[0].kind = DeviceSpanKind::Copy;
  m.made.device[0].bytes = 2 * kStagedBytes;
  const auto store = named({"cudaMemcpy", "cudaMemcpyAsync"});
  const LaunchIndex launches(m.made);
  EXPECT_EQ(launches.find(m.made.device[0])->name, prof::StringId(2)) << "the inner one launched it";
  EXPECT_EQ(launches.all(m.made.device[0]).size(), 2U);
  const auto rows = callTable(*store, m.made, launches, {0, 200});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "cudaMemcpy");
  EXPECT_EQ(rows[0].copies, 1U);
  EXPECT_EQ(rows[0].stepLargeNs, 100);
  EXPECT_EQ(rows[1].copies, 0U);
}

Analysis analysed(const RunPlan& plan) {
  auto analysis = analyse(test::makeRun(plan));
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(Bottleneck, IsWhatTakesMuchOfTheStep) {
  EXPECT_EQ(analysed({}).bottleneck.by, BoundBy::Device);
  EXPECT_EQ(analysed({.batchNs = 20'000'000, .workers = 0}).bottleneck.by, BoundBy::Input);
  EXPECT_EQ(analysed({.batchNs = 20'000'000, .workers = 0, .waitIsMarked = false}).bottleneck.by, BoundBy::Input);
  EXPECT_EQ(analysed({.hostPauseNs = 3'000'000}).bottleneck.by, BoundBy::Host);
  EXPECT_EQ(analysed({.ranks = 2, .collectiveNs = 3'000'000}).bottleneck.by, BoundBy::Communication);
  EXPECT_EQ(analysed({.pageableCopyNs = 3'000'000}).bottleneck.by, BoundBy::Copy);
}

TEST(Bottleneck, TiersAreThoseOfInputPipelines) {
  // 4 ms of kernels in a step.
  const auto inputOf = [](std::int64_t batchNs) {
    return analysed({.steps = 30, .batchNs = batchNs, .workers = 0, .syncEachStep = true}).bottleneck[BoundBy::Input];
  };
  EXPECT_EQ(inputOf(100'000).tier, Tier::None);
  EXPECT_EQ(inputOf(500'000).tier, Tier::Moderate);
  EXPECT_EQ(inputOf(2'000'000).tier, Tier::High);
  EXPECT_NEAR(inputOf(2'000'000).share, 1.0 / 3, 0.02);
  double sum = 0;
  for (const BoundShare& part : analysed({.batchNs = 2'000'000, .workers = 0}).bottleneck.shares) sum += part.share;
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(Report, TellsOfQueuesRangesAndWhatBinds) {
  const Analysis analysis = analysed({.batchNs = 20'000'000, .workers = 0});
  EXPECT_THAT(renderText(analysis, {{"launches"}, 100, false}), testing::HasSubstr("waiting in"));
  EXPECT_THAT(renderText(analysis, {{"ranges"}, 100, false}), testing::HasSubstr("Optimizer.step"));
  EXPECT_THAT(renderText(analysis, {{"ledger"}, 100, false}), testing::HasSubstr("bound by: input (8"));
  EXPECT_THAT(renderHtml(analysis), testing::HasSubstr("bound by: input (8"));
  const std::string json = renderJson(analysis);
  for (const char* key : {"\"queue_lengths\"", "\"projected_ranges\"", "\"bottleneck\"", "\"bound_by\": \"input\"",
                          "\"samples_per_second\": 0"})
    EXPECT_THAT(json, testing::HasSubstr(key));
}

TEST(Report, SaysOfWhatBindsAStepNothingThatIsNothing) {
  const auto lineOf = [](const Analysis& analysis) {
    const std::string text = renderText(analysis, {{"ledger"}, 100, false});
    const std::size_t at = text.find("bound by: ");
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_THAT(lineOf(analysed({.batchNs = 20'000'000, .workers = 0})),
              testing::MatchesRegex("bound by: input \\([0-9.]+ % of a step\\)"));
  EXPECT_THAT(lineOf(analysed({.pageableCopyNs = 500'000, .hostPauseNs = 3'000'000})),
              testing::MatchesRegex("bound by: host \\([0-9.]+ % of a step\\); also copy [0-9.]+ % \\(moderate\\)"));
}

}  // namespace
}  // namespace lacuna::analyzer
