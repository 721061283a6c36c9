// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// Replays of graphs of which a trace lacks work: the device may have worked, so the ledger must not
// call it idle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "analyses/work/graph_replays.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/whatif.h"
#include "support/graph_program.h"
#include "support/seeds.h"

namespace lacuna::analyzer {
namespace {

using test::GraphProgram;
using test::GraphRecording;

/// Steps that wait for a graph of 20 kernels, and spend time on the host.
GraphProgram training(int steps) {
  GraphProgram program;
  for (int i = 0; i < steps; ++i)
    program.beginsStep().works(60).replays(1, 20).launches().synchronises();
  program.endStep();
  return program;
}

std::int64_t idleWithACause(const Ledger& ledger) {
  return ledger.idleNs() - ledger[Cause::Unknown];
}

TEST(UnderRecordedReplays, AreUnknownAndNeverIdle) {
  const Analysis whole = training(10).analysed();
  const Analysis lacking = training(10).loses(4, 5, 20).loses(7, 0, 20).analysed();
  EXPECT_EQ(lacking.of<GraphReplays>().underRecorded(), 2U);
  EXPECT_EQ(whole.ledgers.run[Cause::Unknown], 0);
  EXPECT_LE(idleWithACause(lacking.ledgers.run), idleWithACause(whole.ledgers.run));
  EXPECT_EQ(lacking.ledgers.run.totalNs(), whole.ledgers.run.totalNs());
  // 15 and 20 kernels of 10 µs are missing.
  EXPECT_GE(lacking.ledgers.run[Cause::Unknown], 350'000);
  EXPECT_EQ(lacking.ledgers.run[Cause::Unknown], lacking.of<UnknownPlaces>().unrecordedNs);
}

TEST(UnderRecordedReplays, TheReportBeginsWithThem) {
  const Analysis lacking = training(10).loses(4, 5, 20).analysed();
  const std::string text = renderText(lacking, {});
  const std::size_t sentence =
      text.find("The trace lacks device work of 1 of 10 graph replays (10.0 %)");
  ASSERT_NE(sentence, std::string::npos) << text;
  EXPECT_LT(sentence, text.find("In a step the device is busy"));
  EXPECT_LT(sentence, text.find("\nFindings\n"));
  EXPECT_THAT(text, testing::HasSubstr("unknown,"));
  EXPECT_THAT(text, testing::HasSubstr("--cuda graphs"));
  EXPECT_THAT(renderHtml(lacking),
              testing::HasSubstr("The trace lacks device work of 1 of 10 graph replays"));
}

TEST(UnderRecordedReplays, AWholeTraceDoesNotMentionThem) {
  const Analysis whole = training(10).analysed();
  EXPECT_THAT(renderText(whole, {}), testing::Not(testing::HasSubstr("lacks")));
  EXPECT_EQ(whole.of<UnknownPlaces>().unrecordedNs, 0);
}

TEST(UnderRecordedReplays, TheirStepsAreNotReplayed) {
  const Analysis whole = training(12).analysed();
  const Analysis lacking = training(12).loses(5, 0, 20).analysed();
  const auto before = Simulator::create(whole);
  const auto after = Simulator::create(lacking);
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(static_cast<double>(after->play("host*0").gainNs()),
              static_cast<double>(before->play("host*0").gainNs()), 1000);
}

TEST(UnderRecordedReplays, NothingIsPricedWhereEveryStepLacksWork) {
  const Analysis lacking = training(10).keeps([](int, int node) { return node < 0; }).analysed();
  EXPECT_FALSE(Simulator::create(lacking));
  for (const Finding& finding : lacking.of<Findings>()) {
    EXPECT_NE(finding.gainBasis, GainBasis::Replay);
    EXPECT_NE(finding.id, FindingId::UnderUtilised)
        << "it prices time in which the device may have worked";
  }
  EXPECT_THAT(renderText(lacking, {}), testing::Not(testing::HasSubstr("idle: unknown")));
}

TEST(UnderRecordedReplays, ARecordingThatEndsInAReplayKeepsItsTotals) {
  GraphProgram program;
  for (int i = 0; i < 6; ++i) program.works(10).replays(1, 10);
  const Analysis cut = program.recordsUntil(program.deviceUs() - 40).analysed();
  EXPECT_EQ(cut.of<GraphReplays>().underRecorded(), 0U);
  EXPECT_EQ(cut.ledgers.run[Cause::Unknown], 0);
}

TEST(UnderRecordedReplays, AGraphsWorkIsThatOfTheOperatorsThatWereCaptured) {
  GraphProgram program;
  program.captures(1, 4, "aten::mm").captures(2, 6, "aten::add");
  for (int i = 0; i < 3; ++i)
    program.works(30, "replay").replays(1, 4).replays(2, 6).synchronises();
  const auto deviceNs = [](const Analysis& analysis, std::string_view name) {
    for (const OperatorRow& row : analysis.of<OperatorTables>().byName) {
      if (row.name == name) return row.deviceNs;
    }
    return std::int64_t{-1};
  };
  const Analysis tied = program.analysed({.making = true});
  EXPECT_EQ(deviceNs(tied, "aten::mm"), 3 * 4 * 10'000);
  EXPECT_EQ(deviceNs(tied, "aten::add"), 3 * 6 * 10'000);
  const Analysis loose = program.analysed();
  EXPECT_EQ(deviceNs(loose, "aten::mm"), 0);
  EXPECT_EQ(tied.ledgers.run, loose.ledgers.run);
}

/// A program by chance: graphs of some sizes, kernels between them, waits and host work. Replays 0
/// to 2 are of different graphs.
GraphProgram anyProgram(std::mt19937& random) {
  const auto pick = [&](int from, int to) {
    return std::uniform_int_distribution(from, to)(random);
  };
  GraphProgram program;
  const auto replay = [&](std::uint32_t graph) {
    program.replays(graph, static_cast<int>(graph) * 5, static_cast<int>(graph) * 4);
  };
  for (std::uint32_t graph = 1; graph <= 3; ++graph) replay(graph);
  const int steps = pick(3, 12);
  for (int step = 0; step < steps; ++step) {
    program.beginsStep();
    for (int part = pick(1, 4); part > 0; --part) {
      if (pick(0, 1) == 0) program.works(pick(1, 300), "aten::op" + std::to_string(pick(0, 3)));
      replay(static_cast<std::uint32_t>(pick(1, 3)));
      if (pick(0, 2) == 0) program.launches(pick(1, 60));
      if (pick(0, 2) == 0) program.synchronises();
    }
  }
  return program.endStep();
}

std::map<std::string, std::int64_t> costsOf(const Analysis& analysis) {
  std::map<std::string, std::int64_t> costs;
  for (const Finding& finding : analysis.of<Findings>())
    costs[std::string(findingKey(finding.id))] += finding.accountedNsPerStep;
  return costs;
}

class RandomLosses : public testing::TestWithParam<unsigned> {};

TEST_P(RandomLosses, NeverRaiseAnIdleCostAndLeaveTheSum) {
  std::mt19937 random(GetParam());
  GraphProgram program = anyProgram(random);
  const Analysis whole = program.analysed();
  ASSERT_EQ(whole.of<GraphReplays>().underRecorded(), 0U);
  ASSERT_TRUE(whole.of<GraphReplays>().unrecorded.empty());
  const auto chance = std::uniform_int_distribution<unsigned>(1, 99)(random);
  const auto salt = random();
  // One whole replay shows what the others lack.
  program.keeps([&](int replay, int node) {
    if (replay < 3) return true;
    std::minstd_rand hash(static_cast<unsigned>(replay * 131 + node) ^ static_cast<unsigned>(salt));
    hash.discard(3);
    return hash() % 100 >= chance;
  });
  const Analysis lacking = program.analysed();
  const Ledger &before = whole.ledgers.run, &after = lacking.ledgers.run;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (cause == Cause::Unknown) continue;
    EXPECT_LE(after[cause], before[cause]) << causeKey(cause);
  }
  EXPECT_LE(after.totalNs(), before.totalNs());
  const auto costsBefore = costsOf(whole);
  for (const auto& [finding, cost] : costsOf(lacking)) {
    const auto was = costsBefore.find(finding);
    if (was == costsBefore.end()) continue;
    EXPECT_LE(cost, was->second) << finding;
  }
  for (const DeviceAccount& device : lacking.devices) {
    for (const QueueAccount& queue : device.queues)
      EXPECT_EQ(queue.ledger.totalNs(), device.ledger.totalNs());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLosses, testing::Range(0U, test::seeds(300)));

}  // namespace
}  // namespace lacuna::analyzer
