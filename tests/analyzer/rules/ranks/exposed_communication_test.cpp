// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

RunPlan reducing(std::int64_t ns) {
  return {.ranks = 2, .syncEachStep = true, .collectiveNs = ns};
}

TEST(ExposedCommunicationFinding, IsTheFirstFaultAndCostsWhatTheCollectivesTake) {
  const Analysis analysis = analysed(reducing(3'000'000));
  ASSERT_FALSE(analysis.of<Findings>().empty());
  const Finding& finding = analysis.of<Findings>().front();
  ASSERT_EQ(finding.id, FindingId::ExposedCommunication);
  EXPECT_NEAR(static_cast<double>(finding.costNsPerStep), 3e6, 0.02 * 3e6);
  EXPECT_EQ(finding.gainBasis, GainBasis::Replay);
  EXPECT_LE(finding.predictedGainNsPerStep, finding.costNsPerStep);
  EXPECT_EQ(finding.count, 2 * 12U);
  EXPECT_EQ(finding.knob, "overlap=on");
  EXPECT_THAT(finding.advice,
              testing::StartsWith("start collectives as soon as gradients are ready"));
  EXPECT_FALSE(finding.evidence.empty());
}

TEST(ExposedCommunicationFinding, BeginsAtItsShareOfTheStep) {
  const std::int64_t edge = edgeOf(FindingId::ExposedCommunication, reducing, 10'000, 3'000'000);
  expectBegins(FindingId::ExposedCommunication, "least",
               partOfStep(analysed(reducing(edge)), edge));
}

TEST(ExposedCommunicationFinding, CommunicationBesideComputeIsNone) {
  // All but 0.1 ms of it runs while the compute queue works.
  EXPECT_EQ(
      find(analysed(with(reducing(3'000'000), [](RunPlan& plan) { plan.earlyNs = 2'900'000; })),
           FindingId::ExposedCommunication),
      nullptr);
}

TEST(ExposedCommunicationFinding, TheWaitForALateRankIsThatRanksFault) {
  const Analysis analysis =
      analysed(with(reducing(100'000), [](RunPlan& plan) { plan.lateNs = 2'000'000; }));
  EXPECT_NE(find(analysis, FindingId::LateRank), nullptr);
  EXPECT_EQ(find(analysis, FindingId::ExposedCommunication), nullptr);
}

TEST(ExposedCommunicationFinding, ARunOnOneRankWithoutCollectivesHasNone) {
  EXPECT_EQ(find(analysed({.syncEachStep = true}), FindingId::ExposedCommunication), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
