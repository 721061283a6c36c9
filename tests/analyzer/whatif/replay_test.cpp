// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;

/// A host's program, item by item, and its device work.
class Program {
 public:
  /// Work of `durNs` after a call of 2 ns; both begin as soon as they can.
  Program& launch(std::int64_t gapNs, std::int64_t durNs, std::size_t queue = 0) {
    model.items.push_back(
        {.step = step_, .gapNs = gapNs, .durNs = 2, .node = model.nodes.size(), .call = {}});
    model.nodes.push_back({.durNs = durNs, .queue = queue, .name = {}});
    model.queues = std::max(model.queues, queue + 1);
    return *this;
  }
  Program& sync(std::int64_t gapNs, std::int64_t durNs, std::size_t node = kNowhere) {
    model.items.push_back({.kind = HostItemKind::Sync,
                           .step = step_,
                           .gapNs = gapNs,
                           .durNs = durNs,
                           .node = node,
                           .call = {}});
    return *this;
  }
  Program& batch(std::int64_t gapNs, std::int64_t durNs, std::int64_t periodNs = 0) {
    model.items.push_back({.kind = HostItemKind::LoaderWait,
                           .step = step_,
                           .gapNs = gapNs,
                           .durNs = durNs,
                           .periodNs = periodNs,
                           .call = {}});
    return *this;
  }
  /// The loader starts or stops its workers.
  Program& workerChange(std::int64_t gapNs, std::int64_t durNs) {
    model.items.push_back({.kind = HostItemKind::WorkerChange,
                           .step = step_,
                           .gapNs = gapNs,
                           .durNs = durNs,
                           .call = {}});
    return *this;
  }
  Program& nextStep() {
    model.steps = ++step_ + 1;
    return *this;
  }
  DeviceNode& node() { return model.nodes.back(); }
  HostItem& item() { return model.items.back(); }
  Scenario scenario() const {
    return {&model, model.nodes, model.items, std::vector<char>(model.nodes.size(), 0),
            model.loader};
  }
  std::vector<std::int64_t> completions() const {
    const Scenario played = scenario();
    return Replay(played).pass().atNs;
  }
  std::int64_t totalNs() const {
    const Scenario played = scenario();
    return Replay(played).pass().totalNs;
  }

  Simulator::Model model;

 private:
  std::size_t step_ = 0;
};

TEST(Replay, AQueueWorksItsWorkOffInOrder) {
  Program program;
  program.launch(10, 100).node().launchDelayNs = 5;
  EXPECT_EQ(program.totalNs(), 10 + 2 + 5 + 100);
  program.launch(0, 50).node() = {.durNs = 50, .launchDelayNs = 5, .queueGapNs = 1, .name = {}};
  EXPECT_EQ(program.totalNs(), 117 + 1 + 50);
  program.launch(500, 50).node().launchDelayNs = 5;
  EXPECT_EQ(program.totalNs(), 14 + 500 + 2 + 5 + 50) << "the queue has long been empty";
}

TEST(Replay, WorkersPrepareNothingOfAnEpochBeforeItBegins) {
  Program program;
  for (int i = 0; i < 6; ++i) program.batch(100, 0).launch(0, 10).nextStep();
  program.model.loader = {.workers = 1, .prefetch = 4, .batchNs = 60};
  const auto endOf = [&](bool ofOneBatch) {
    for (HostItem& item : program.model.items)
      item.beginsEpoch = ofOneBatch && item.kind == HostItemKind::LoaderWait;
    Scenario scenario = program.scenario();
    scenario.pipelined = true;
    return Replay(scenario).pass().totalNs;
  };
  EXPECT_EQ(endOf(false), 6 * 102 + 10) << "each batch is ready when it is asked for";
  EXPECT_EQ(endOf(true), 6 * 162 + 10) << "each epoch's only batch is begun when it is asked for";
}

TEST(Replay, StartingAndStoppingWorkersTakesItsTimeForEachOfThem) {
  Program program;
  for (int epoch = 0; epoch < 3; ++epoch)
    program.workerChange(0, 40).batch(0, 0).launch(0, 10).workerChange(0, 20).nextStep();
  program.model.loader = {.workers = 2, .prefetch = 2, .batchNs = 5};
  EXPECT_EQ(program.totalNs(), 3 * 62) << "as recorded";
  const auto withWorkers = [&](std::uint32_t workers) {
    Scenario scenario = program.scenario();
    scenario.loader.workers = workers;
    scenario.loader.serial = workers == 0;
    scenario.pipelined = workers > 0;
    return Replay(scenario).pass().totalNs;
  };
  EXPECT_EQ(withWorkers(2), 3 * 62) << "a batch is prepared sooner than the workers have started";
  EXPECT_EQ(withWorkers(4), 3 * 122);
  EXPECT_EQ(withWorkers(1), 3 * 32);
  EXPECT_EQ(withWorkers(0), 2 + 3 * 10) << "nothing is started";
}

TEST(Replay, OtherQueuesAreWaitedForWhereTheyWere) {
  Program program;
  program.launch(0, 100).launch(0, 30, 1);
  EXPECT_EQ(program.totalNs(), 102) << "side by side";
  program.node().after = 0;
  program.node().afterGapNs = 3;
  EXPECT_EQ(program.totalNs(), 102 + 3 + 30);
}

TEST(Replay, TheHostWaitsInSynchronisations) {
  Program program;
  program.launch(0, 100).sync(8, 6, 0);
  EXPECT_EQ(program.totalNs(), 102 + 6);
  program.sync(4, 6, 0);
  EXPECT_EQ(program.totalNs(), 108 + 4 + 6) << "the work is done already";
  program.sync(0, 9);
  EXPECT_EQ(program.totalNs(), 118 + 9) << "of no work, it takes its time";
}

TEST(Replay, ABlockingCallReturnsBehindItsWork) {
  Program program;
  program.launch(10, 100).item().blocks = true;
  program.item().durNs = 7;
  program.launch(0, 1);
  EXPECT_EQ(program.totalNs(), 10 + 100 + 7 + 2 + 1);
}

TEST(Replay, ALaunchWaitsForRoomInItsQueue) {
  Program program;
  program.launch(0, 100).launch(0, 100).launch(0, 10).item().room = 0;
  // The first is done at 102, the call returns at 104, and the work is done at 202 + 10.
  EXPECT_EQ(program.totalNs(), 212);
  program.launch(0, 1'000, 1);
  EXPECT_EQ(program.totalNs(), 104 + 2 + 1'000) << "the host goes on behind the wait";
}

TEST(Replay, RemovedWorkTakesNoTimeAndHoldsNothingUp) {
  Program program;
  program.launch(0, 100).launch(0, 500).launch(0, 10).sync(0, 0, 1).launch(0, 1'000, 1);
  Scenario scenario = program.scenario();
  scenario.removed[1] = 1;
  scenario.items[1].durNs = 0;
  std::vector<DrawnStep::Stretch> drawn;
  Replay replay(scenario);
  replay.draw(0, 10'000, &drawn);
  EXPECT_EQ(replay.pass().totalNs, 102 + 2 + 1'000)
      << "who waited for it waits for the work before it";
  std::vector<std::int64_t> ends;
  for (const auto& stretch : drawn) {
    if (stretch.kind == DrawnStep::Kind::Work) ends.push_back(stretch.endNs);
  }
  EXPECT_THAT(ends, ElementsAre(102, 112, 1'104));
}

TEST(Replay, StepsEndWithTheirLastItemOrItsWork) {
  Program program;
  program.launch(0, 100).nextStep().sync(10, 5).nextStep().nextStep().launch(0, 200);
  // The second step ends before the work of the first, the third has no items.
  EXPECT_THAT(program.completions(), ElementsAre(102, 102, 102, 302));
  program.model.tailNs = 1'000;
  EXPECT_EQ(program.totalNs(), 2 + 15 + 2 + 1'000);
}

TEST(Replay, PassesFollowEachOther) {
  Program program;
  program.launch(10, 100);
  const Scenario scenario = program.scenario();
  Replay replay(scenario);
  EXPECT_EQ(replay.pass().totalNs, 112);
  EXPECT_EQ(replay.nowNs(), 12);
  // The host begins at 12, and the queue is free at 112.
  const Completions second = replay.pass();
  EXPECT_EQ(second.atNs.at(0), 212);
  EXPECT_EQ(second.totalNs, 212 - 12);
}

TEST(Replay, BatchesComeAtTheRecordedPace) {
  Program ready;
  ready.batch(10, 3).nextStep().batch(20, 4);
  EXPECT_THAT(ready.completions(), ElementsAre(13, 37)) << "handed over in their time";
  Program late;
  late.batch(10, 90, 100)
      .nextStep()
      .batch(20, 80, 100)
      .nextStep()
      .batch(150, 5, 100)
      .nextStep()
      .batch(0, 1, 100);
  // The pace counts from the first; a consumer that comes later than a batch is ready takes it at
  // once.
  EXPECT_THAT(late.completions(), ElementsAre(100, 200, 350, 450));
}

TEST(Replay, AThreadThatPreparesItsBatchesTakesTheirTime) {
  Program program;
  program.model.loader.serial = true;
  program.batch(10, 90, 100).nextStep().batch(20, 80, 100).nextStep().batch(150, 5, 100);
  EXPECT_THAT(program.completions(), ElementsAre(100, 200, 355));
}

TEST(Replay, WorkersPrepareSideBySideAndNoFurtherAheadThanAllowed) {
  struct Case {
    std::uint32_t workers, prefetch;
    std::int64_t batchNs, gapNs, paceNs;
  };
  // The pace is that of the slowest: of the consumer, of the workers, or of batches that may begin
  // so far ahead.
  for (const Case& one :
       {Case{1, 2, 100, 10, 100}, Case{2, 2, 100, 10, 50}, Case{4, 2, 100, 10, 25},
        Case{4, 2, 100, 60, 65}, Case{20, 2, 100, 10, 15}, Case{1, 1, 100, 10, 105},
        Case{4, 1, 100, 6, 27}}) {
    Program program;
    for (int i = 0; i < 200; ++i) program.batch(one.gapNs, 0).nextStep();
    program.batch(one.gapNs, 0);
    Scenario scenario = program.scenario();
    scenario.pipelined = true;
    scenario.loader = {
        .workers = one.workers, .prefetch = one.prefetch, .batchNs = one.batchNs, .handoverNs = 5};
    const std::vector<std::int64_t> at = Replay(scenario).pass().atNs;
    EXPECT_NEAR(static_cast<double>(at[200] - at[100]), static_cast<double>(100 * one.paceNs), 100)
        << one.workers << " workers, " << one.gapNs;
  }
}

TEST(Replay, HandingABatchOverLastsAsLongAsRecorded) {
  for (const bool handsOver : {false, true}) {
    Program program;
    for (int i = 0; i < 8; ++i) {
      program.batch(20, 30, handsOver ? 10 : 50).nextStep();
      program.model.items.back().handsOver = handsOver;
    }
    program.batch(20, 30, 50);
    const auto pace = [](const std::vector<std::int64_t>& at) { return at[6] - at[5]; };
    EXPECT_EQ(pace(program.completions()), 50);
    for (HostItem& item : program.model.items) item.gapNs = 5;
    EXPECT_EQ(pace(program.completions()), handsOver ? 35 : 50) << "a busy worker keeps its pace";
    for (HostItem& item : program.model.items) item.durNs = 1;
    EXPECT_EQ(pace(program.completions()), handsOver ? 10 : 50)
        << "no faster than batches are prepared";
  }
}

TEST(Replay, WorkersThatComputeShareTheCoresWithTheTraining) {
  Program program;
  for (int i = 0; i < 7; ++i) program.batch(100, 0).nextStep();
  program.batch(100, 0);
  program.model.hostCores = 2;
  program.model.loader.serial = true;
  program.model.measured = {.atNs = {0, 1'100, 2'200, 3'300, 4'400}, .totalNs = 5'500};
  Scenario scenario = program.scenario();
  scenario.pipelined = true;
  scenario.loader = {.workers = 50, .batchNs = 1'000, .cpuShare = 1};
  EXPECT_EQ(replayUnshared(scenario), 100);
  EXPECT_NEAR(static_cast<double>(replay(scenario)), 550, 60)
      << "a batch and 100 ns of the host on two cores";
  scenario.loader.cpuShare = 0;
  EXPECT_EQ(replay(scenario), 100) << "workers that wait need no core";
  scenario.loader.cpuShare = 1;
  program.model.hostCores = 0;
  EXPECT_EQ(replay(scenario), 100) << "the cores are not known";
}

TEST(Replay, ADrawnWindowHoldsWhatLiesInIt) {
  Program program;
  program.launch(10, 100).launch(5, 20, 1).sync(3, 4, 0).batch(6, 9);
  const Scenario scenario = program.scenario();
  using Kind = DrawnStep::Kind;
  const auto drawn = [&](std::int64_t from, std::int64_t to) {
    std::vector<DrawnStep::Stretch> stretches;
    Replay replay(scenario);
    replay.draw(from, to, &stretches);
    replay.pass();
    std::vector<std::tuple<Kind, std::int64_t, std::int64_t, std::size_t>> out;
    for (const auto& one : stretches) out.emplace_back(one.kind, one.startNs, one.endNs, one.queue);
    return out;
  };
  // Work is drawn as it is launched, in front of the call. The host waits from 22 to 116, and for a
  // batch from 122 on.
  using Row = std::tuple<Kind, std::int64_t, std::int64_t, std::size_t>;
  EXPECT_THAT(drawn(0, 1'000),
              ElementsAre(Row(Kind::Host, 0, 10, 0), Row(Kind::Work, 12, 112, 0),
                          Row(Kind::Host, 10, 17, 0), Row(Kind::Work, 19, 39, 1),
                          Row(Kind::Host, 17, 22, 0), Row(Kind::SyncWait, 22, 116, 0),
                          Row(Kind::Host, 116, 122, 0), Row(Kind::LoaderWait, 122, 131, 0)));
  EXPECT_THAT(drawn(30, 50), ElementsAre(Row(Kind::Work, 0, 20, 0), Row(Kind::Work, 0, 9, 1),
                                         Row(Kind::SyncWait, 0, 20, 0)));
  EXPECT_TRUE(drawn(500, 600).empty());
}

}  // namespace
}  // namespace lacuna::analyzer
