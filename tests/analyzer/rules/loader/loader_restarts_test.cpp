// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

#include "analyses/loader/loader.h"

namespace lacuna::analyzer {
namespace {

TEST(LoaderRestartsFinding, ShowWorkersThatAreStartedAnew) {
  const RunPlan plan{
      .steps = 60, .batchNs = 500'000, .workers = 2, .stepsPerEpoch = 20, .restartNs = 80'000'000};
  const Analysis analysis = analysed(plan);
  EXPECT_EQ(analysis.of<LoaderStats>().workers, 2U);
  const Finding* finding = find(analysis, FindingId::LoaderRestarts);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(analysis.of<Findings>().front().id, FindingId::LoaderRestarts);
  EXPECT_EQ(finding->count, 2U);
  const auto perStep =
      static_cast<double>(2 * plan.restartNs) / static_cast<double>(analysis.stepCount());
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), perStep, 0.05 * perStep);
  EXPECT_EQ(finding->predictedGainNsPerStep, finding->costNsPerStep);
  EXPECT_EQ(finding->gainLowNsPerStep, finding->costNsPerStep);
  EXPECT_EQ(finding->gainHighNsPerStep, finding->costNsPerStep);
  EXPECT_EQ(find(analysis, FindingId::LoaderWait), nullptr)
      << "nothing but the restarts makes this run wait";
  RunPlan kept = plan;
  kept.stepsPerEpoch = 0;
  const Analysis without = analysed(kept);
  EXPECT_EQ(find(without, FindingId::LoaderRestarts), nullptr);
}

TEST(LoaderRestartsFinding, KnowHowManyWorkersWouldDoWhereTheyAreStartedAnew) {
  const RunPlan plan{.steps = 60,
                     .batchNs = 30'000'000,
                     .workers = 2,
                     .stepsPerEpoch = 20,
                     .restartNs = 300'000'000};
  RunPlan kept = plan;
  kept.stepsPerEpoch = 0;
  const Analysis without = analysed(kept);
  const Analysis with = analysed(plan);
  ASSERT_NE(find(with, FindingId::LoaderRestarts), nullptr);
  ASSERT_NE(find(with, FindingId::LoaderWait), nullptr);
  ASSERT_NE(find(without, FindingId::LoaderWait), nullptr);
  EXPECT_EQ(find(with, FindingId::LoaderWait)->knob, find(without, FindingId::LoaderWait)->knob);
}

}  // namespace
}  // namespace lacuna::analyzer
