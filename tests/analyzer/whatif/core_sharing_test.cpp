// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/core_sharing.h"

#include <gtest/gtest.h>

#include <vector>

namespace lacuna::analyzer {
namespace {

constexpr CoreDemand kTeamOfTwo{.cores = 2,
                                .workers = 1,
                                .busyShare = 1,
                                .team = 2,
                                .teamShare = 1,
                                .teamOfWork = 1,
                                .teamPower = 2};

TEST(StretchOf, ThreadsThatHaveCoresTakeNoLonger) {
  const Stretch alone = stretchOf(
      {.cores = 4, .workers = 1, .busyShare = 1, .team = 2, .teamShare = 1, .teamPower = 2});
  EXPECT_DOUBLE_EQ(alone.host, 1);
  EXPECT_DOUBLE_EQ(alone.work, 1);
  EXPECT_DOUBLE_EQ(alone.batch, 1);
}

TEST(StretchOf, ATeamWaitsForItsThreadThatSharesACore) {
  const Stretch shared = stretchOf(kTeamOfTwo);
  EXPECT_DOUBLE_EQ(shared.host, 1) << "one thread of the training and the worker have a core each";
  EXPECT_DOUBLE_EQ(shared.work, 1.5 * 1.5);
  EXPECT_DOUBLE_EQ(shared.batch, 1.5);
}

TEST(StretchOf, AWorkerThatIsBusyNowAndThenDisturbsAsOften) {
  CoreDemand half = kTeamOfTwo;
  half.busyShare = 0.5;
  EXPECT_DOUBLE_EQ(stretchOf(half).work, 1 / (0.5 + 0.5 / 2.25));
  half.busyShare = 0;
  EXPECT_DOUBLE_EQ(stretchOf(half).work, 1);
}

TEST(StretchOf, WorkOfOneThreadTakesNoLongerThanTheHostDoes) {
  CoreDemand single = kTeamOfTwo;
  single.teamOfWork = 0;
  EXPECT_DOUBLE_EQ(stretchOf(single).work, 1);
  single.workers = 3;
  EXPECT_DOUBLE_EQ(stretchOf(single).work, 2);
}

TEST(StretchOf, AnyNumberOfWorkersIsFinite) {
  CoreDemand many = kTeamOfTwo;
  many.workers = 1024;
  for (const double busy : {1e-9, 0.3, 0.999, 1.0}) {
    many.busyShare = busy;
    const Stretch shared = stretchOf(many);
    EXPECT_GE(shared.batch, 1) << busy;
    EXPECT_LT(shared.batch, 520) << busy;
  }
}

/// A step of 10 ms: 2 ms of the host, 4 ms of work on two cores, and a batch whose preparation
/// computes for 6 ms.
struct Recorded {
  explicit Recorded(bool serial = false) {
    for (std::size_t step = 0; step < 8; ++step) {
      model.items.push_back(
          {.step = step, .gapNs = 2'000'000, .node = model.nodes.size(), .call = {}});
      model.nodes.push_back({.durNs = 4'000'000, .name = {}});
      model.items.push_back({.kind = HostItemKind::LoaderWait, .step = step, .call = {}});
      model.measured.atNs.push_back(static_cast<std::int64_t>(step) * 10'000'000);
    }
    model.steps = 8;
    model.queues = 1;
    model.hostCores = model.queueCores = 2;
    model.loader = {
        .workers = serial ? 0u : 1u, .serial = serial, .batchNs = 6'000'000, .cpuShare = 1};
  }
  [[nodiscard]] Scenario scenario() const {
    Scenario out{&model, model.nodes, model.items, std::vector<char>(model.nodes.size(), 0),
                 model.loader};
    out.pipelined = true;
    return out;
  }
  Simulator::Model model;
};

TEST(CoreSharing, ALoaderThatStaysAsItIsChangesNothing) {
  const Recorded recorded;
  const Stretch same = CoreSharing(recorded.scenario()).against(10'000'000);
  EXPECT_NEAR(same.host, 1, 1e-4);
  EXPECT_NEAR(same.work, 1, 1e-4);
  EXPECT_NEAR(same.batch, 1, 1e-4);
}

TEST(CoreSharing, WorkersThatComputeLessGiveTheTrainingItsCores) {
  const Recorded recorded;
  Scenario scenario = recorded.scenario();
  double before = 1 + 1e-4;
  for (const double factor : {1.0, 0.5, 0.1, 0.0}) {
    scenario.loader.batchNs = static_cast<std::int64_t>(factor * 6e6);
    const double work = CoreSharing(scenario).against(10'000'000).work;
    EXPECT_LE(work, before) << factor;
    before = work;
  }
  EXPECT_NEAR(before, CoreSharing(scenario).alone().work, 1e-4);
}

TEST(CoreSharing, WorkersOfASerialLoaderTakeCoresFromTheTraining) {
  const Recorded recorded(true);
  Scenario scenario = recorded.scenario();
  scenario.loader.serial = false;
  scenario.loader.workers = 1;
  const CoreSharing sharing(scenario);
  EXPECT_DOUBLE_EQ(sharing.alone().work, 1) << "nothing shared the cores before";
  EXPECT_GT(sharing.against(10'000'000).work, 1.2);
  EXPECT_GT(sharing.against(10'000'000).batch, 1);
  EXPECT_GT(sharing.against(8'000'000).work, sharing.against(12'000'000).work)
      << "a worker is busier in shorter steps";
}

TEST(CoreSharing, ADeviceOfItsOwnKeepsItsPace) {
  Recorded recorded(true);
  recorded.model.queueCores = 0;
  Scenario scenario = recorded.scenario();
  scenario.loader.workers = 8;
  const Stretch shared = CoreSharing(scenario).against(3'000'000);
  EXPECT_GT(shared.host, 1.2);
  const Scenario slowed = stretched(scenario, shared);
  EXPECT_EQ(slowed.nodes.front().durNs, 4'000'000);
  EXPECT_GT(slowed.items.front().gapNs, 2'400'000);
}

TEST(CoreSharing, TheLikelyPaceOfATeamLiesBetweenItsBounds) {
  EXPECT_LT(CoreSharing::teamPower(Bound::Low), CoreSharing::teamPower(Bound::Likely));
  EXPECT_LT(CoreSharing::teamPower(Bound::Likely), CoreSharing::teamPower(Bound::High));
}

}  // namespace
}  // namespace lacuna::analyzer
