// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/graph_replays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/graph_program.h"

namespace lacuna::analyzer {
namespace {

using test::GraphProgram;
using test::GraphRecording;
using enum ReplayState;

GraphReplays replaysIn(const std::shared_ptr<const Store>& store) {
  auto replays = findGraphReplays(*store);
  EXPECT_TRUE(replays) << replays.error().message;
  return *std::move(replays);
}
GraphReplays replaysOf(const GraphProgram& program, const GraphRecording& how = {}) {
  return replaysIn(program.recorded(how));
}

std::vector<ReplayState> statesOf(const GraphReplays& replays) {
  std::vector<ReplayState> states;
  for (const GraphReplay& replay : replays.replays) states.push_back(replay.state);
  return states;
}

/// The stretches in microseconds.
using Stretch = std::pair<prof::TimeNs, prof::TimeNs>;
std::vector<Stretch> stretchesOf(const GraphReplays& replays) {
  std::vector<Stretch> stretches;
  for (const DeviceSpan& span : replays.unrecorded)
    stretches.emplace_back(span.startNs / 1000, span.endNs / 1000);
  return stretches;
}

/// Replays of one graph of eight kernels, each waited for. One takes 5 + 2 + 8 · 11 = 95 µs, and
/// the host 20 more.
GraphProgram waitsForEach(int count) {
  GraphProgram program;
  for (int i = 0; i < count; ++i) program.works(20).replays(1, 8).synchronises();
  return program;
}

constexpr GraphRecording kNoNumbers{.graphIds = false, .nodeIds = false};

TEST(GraphReplays, ATraceWithoutGraphsHasNone) {
  const GraphReplays replays = replaysOf(GraphProgram().launches().launches());
  EXPECT_TRUE(replays.replays.empty());
  EXPECT_TRUE(replays.graphs.empty());
}

TEST(GraphReplays, WholeReplaysLackNothing) {
  for (const bool ids : {true, false}) {
    const GraphReplays replays = replaysOf(waitsForEach(4), {.graphIds = ids, .nodeIds = ids});
    EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, Whole, Whole, Whole));
    ASSERT_EQ(replays.graphs.size(), 1U);
    EXPECT_EQ(replays.graphs[0].nodes, 8U);
    EXPECT_EQ(replays.graphs[0].id, ids ? 1U : 0U);
    EXPECT_TRUE(replays.unrecorded.empty());
  }
}

TEST(GraphReplays, AReplayWithFewerNodesThanItsPeersLacksTheRest) {
  const GraphReplays replays = replaysOf(waitsForEach(4).loses(1, 3, 8));
  EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, UnderRecorded, Whole, Whole));
  EXPECT_EQ(replays.underRecorded(), 1U);
  EXPECT_EQ(replays.missing(), 5U);
  // From its launch to the end of the wait for it. The first one ends at 20 + 5 + 2 + 8 · 11 = 115.
  EXPECT_THAT(stretchesOf(replays), testing::ElementsAre(Stretch{115 + 20, 115 + 115}));
}

TEST(GraphReplays, ReplaysThatEachLackOtherNodesShowAllOfThemTogether) {
  const GraphReplays replays =
      replaysOf(waitsForEach(3).loses(0, 0, 2).loses(1, 2, 4).loses(2, 4, 6));
  EXPECT_THAT(statesOf(replays), testing::Each(UnderRecorded));
  EXPECT_EQ(replays.graphs[0].nodes, 8U);
  EXPECT_EQ(replays.missing(), 6U);
}

TEST(GraphReplays, NodesAloneShowTheGraph) {
  const GraphReplays replays = replaysOf(waitsForEach(3).loses(2, 1, 7), {.graphIds = false});
  EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, Whole, UnderRecorded));
  EXPECT_EQ(replays.graphs.size(), 1U);
}

TEST(GraphReplays, ALaunchWithoutAnyWorkLacksAllOfIt) {
  for (const GraphRecording& how : {GraphRecording{}, kNoNumbers}) {
    const GraphReplays replays = replaysOf(waitsForEach(3).loses(1, 0, 8), how);
    EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, UnderRecorded, Whole));
    EXPECT_EQ(replays.missing(), 8U);
  }
}

TEST(GraphReplays, WithoutAnyRecordedReplayEachLaunchLacksItsWork) {
  GraphProgram program = waitsForEach(3);
  const GraphReplays replays = replaysOf(program.launches().keeps([](int, int) { return false; }));
  EXPECT_THAT(statesOf(replays), testing::Each(UnderRecorded));
  EXPECT_EQ(replays.graphs[0].nodes, 0U);
}

TEST(GraphReplays, WithoutNumbersFewKernelsAreAPartWhereTheRestLeftAHole) {
  const GraphReplays replays = replaysOf(waitsForEach(5).loses(1, 2, 8).loses(3, 2, 8), kNoNumbers);
  EXPECT_THAT(statesOf(replays),
              testing::ElementsAre(Whole, UnderRecorded, Whole, UnderRecorded, Whole));
  EXPECT_EQ(replays.missing(), 12U);
}

TEST(GraphReplays, ASmallerGraphThatLeavesNoHoleIsAnotherOne) {
  GraphProgram program;
  for (int i = 0; i < 6; ++i) program.replays(1, 8);
  program.replays(2, 3).launches().synchronises();
  const GraphReplays replays = replaysOf(program, kNoNumbers);
  EXPECT_THAT(statesOf(replays), testing::Each(Whole));
  EXPECT_EQ(replays.graphs.size(), 2U);
}

TEST(GraphReplays, AGraphThatWasInstantiatedAgainMayHaveFewerNodes) {
  GraphProgram program = waitsForEach(3);
  for (int i = 0; i < 3; ++i) program.works(20).replays(2, 5).synchronises();
  const GraphReplays replays = replaysOf(program);
  EXPECT_THAT(statesOf(replays), testing::Each(Whole));
  EXPECT_THAT(replays.graphs, testing::ElementsAre(testing::Field(&ReplayedGraph::nodes, 8U),
                                                   testing::Field(&ReplayedGraph::nodes, 5U)));
}

TEST(GraphReplays, TwoInstancesOfAGraphHaveNodesOfTheirOwn) {
  GraphProgram program;
  for (int i = 0; i < 3; ++i) program.replays(1, 8).synchronises().replays(2, 8).synchronises();
  const GraphReplays replays = replaysOf(program, {.oneGraph = true});
  EXPECT_THAT(statesOf(replays), testing::Each(Whole));
  EXPECT_EQ(replays.graphs.size(), 2U);
}

TEST(GraphReplays, TheEndOfTheRecordingCutsTheLastReplay) {
  GraphProgram program;
  program.replays(1, 8).replays(1, 8);
  const GraphReplays replays = replaysOf(program.recordsUntil(program.deviceUs() - 30));
  EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, Cut));
  EXPECT_EQ(replays.underRecorded(), 0U);
}

TEST(GraphReplays, ALaunchAtTheVeryEndIsCutOffWithAllItsWork) {
  GraphProgram program;
  program.replays(1, 8).replays(1, 8);
  EXPECT_THAT(statesOf(replaysOf(program.loses(1, 0, 8))), testing::ElementsAre(Whole, Cut));
}

TEST(GraphReplays, TheBeginOfTheRecordingCutsAReplayWhoseLaunchIsNotInIt) {
  GraphProgram program;
  program.replays(1, 8).pauses(30).replays(1, 8).synchronises();
  EXPECT_THAT(statesOf(replaysOf(program.recordsFrom(28))), testing::ElementsAre(Cut, Whole));
}

TEST(GraphReplays, WorkMissingInTheMiddleIsNotCutOff) {
  GraphProgram program;
  program.replays(1, 8).replays(1, 8);
  EXPECT_THAT(statesOf(replaysOf(program.loses(1, 3, 5))),
              testing::ElementsAre(Whole, UnderRecorded));
}

TEST(GraphReplays, AFirstReplayWhoseLaunchWasRecordedIsNotCutOff) {
  EXPECT_THAT(statesOf(replaysOf(waitsForEach(2).loses(0, 0, 3))),
              testing::ElementsAre(UnderRecorded, Whole));
}

TEST(GraphReplays, WithoutCallsTheWorkShowsTheReplays) {
  GraphProgram program;
  for (int i = 0; i < 4; ++i) program.pauses(50).replays(1, 8);
  const GraphReplays replays = replaysOf(program.loses(2, 0, 4), {.calls = false});
  EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, Whole, UnderRecorded, Whole));
  // From the end of the work in front of it to its first work.
  ASSERT_EQ(replays.unrecorded.size(), 1U);
  EXPECT_LT(replays.unrecorded[0].startNs, replays.replays[2].firstNs);
}

TEST(GraphReplays, AReplayThatWaitsForEarlierWorkMayRunOnlyAfterThat) {
  GraphProgram program;
  program.replays(1, 2).launches(200).replays(1, 2).launches().synchronises();
  const GraphReplays replays = replaysOf(program.loses(1, 0, 2));
  // The long kernel runs from 29 to 229, the next one from 251 on.
  EXPECT_THAT(stretchesOf(replays), testing::ElementsAre(Stretch{229, 251}));
}

TEST(GraphReplays, ADriversCallInsideOfARuntimesCallIsTheSameLaunch) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<prof::TimeNs>(1000 * i);
    const prof::ThreadId thread(1);
    builder.append(prof::ApiCall{.startNs = at,
                                 .durNs = 100,
                                 .thread = thread,
                                 .name = builder.intern("cudaGraphLaunch_v10000"),
                                 .correlation = 2 * i + 1});
    builder.append(prof::ApiCall{.startNs = at + 10,
                                 .durNs = 50,
                                 .thread = thread,
                                 .name = builder.intern("cuGraphLaunch"),
                                 .correlation = 2 * i + 2});
    for (std::uint64_t node = 1; node <= 2; ++node)
      builder.append(prof::Kernel{.startNs = at + 200 * static_cast<prof::TimeNs>(node),
                                  .durNs = 100,
                                  .queue = prof::QueueId(1),
                                  .device = prof::DeviceId(1),
                                  .correlation = 2 * i + 2,
                                  .graphId = 5,
                                  .graphNodeId = node});
  }
  const GraphReplays replays = replaysIn(builder.build());
  EXPECT_THAT(statesOf(replays), testing::ElementsAre(Whole, Whole, Whole));
  EXPECT_EQ(replays.replays[0].correlation, 2U);
}

TEST(GraphReplays, WorkWithoutALaunchMayBeThatOfALaunchWithoutWork) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Rocm});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<prof::TimeNs>(1000 * i);
    builder.append(prof::ApiCall{.startNs = at,
                                 .durNs = 100,
                                 .thread = prof::ThreadId(1),
                                 .name = builder.intern("hipGraphLaunch"),
                                 .correlation = i + 1});
    builder.append(prof::Kernel{
        .startNs = at + 200, .durNs = 500, .queue = prof::QueueId(1), .device = prof::DeviceId(1)});
  }
  const GraphReplays replays = replaysIn(builder.build());
  EXPECT_EQ(replays.underRecorded(), 0U);
  EXPECT_TRUE(replays.unrecorded.empty());
}

TEST(GraphReplays, TheMakingOfNodesShowsThoseThatNoReplayRecorded) {
  GraphProgram program;
  program.captures(1, 8, "aten::mm").captures(2, 3, "aten::add");
  for (int i = 0; i < 3; ++i)
    program.works(20).replays(1, 8).synchronises().replays(2, 3).synchronises();
  program.keeps([](int replay, int node) { return replay % 2 == 1 || node < 2; });
  const GraphReplays replays = replaysOf(program, {.making = true});
  EXPECT_THAT(statesOf(replays), testing::ElementsAre(UnderRecorded, Whole, UnderRecorded, Whole,
                                                      UnderRecorded, Whole));
  EXPECT_EQ(replays.graphs[0].nodes, 8U);
  EXPECT_EQ(replays.graphs[1].nodes, 3U);
  EXPECT_EQ(replays.missing(), 18U);
  EXPECT_EQ(replaysOf(program).underRecorded(), 0U)
      << "two kernels of each replay are all that is known";
}

TEST(GraphReplays, OneRecordForEachReplayIsAllThereIs) {
  GraphProgram program;
  for (int i = 0; i < 4; ++i) program.works(20).replays(1, 1, 80).synchronises();
  const GraphRecording whole{.nodeIds = false};
  EXPECT_THAT(statesOf(replaysOf(program, whole)), testing::Each(Whole));
  EXPECT_THAT(statesOf(replaysOf(program.loses(2, 0, 1), whole)),
              testing::ElementsAre(Whole, Whole, UnderRecorded, Whole));
}

}  // namespace
}  // namespace lacuna::analyzer
