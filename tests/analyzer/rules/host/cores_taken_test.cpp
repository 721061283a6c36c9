// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

#include "analyses/disturbance/core_contention.h"

namespace lacuna::analyzer {
namespace {

TEST(CoresTakenFinding, CoresThatOtherProgramsTookAreNamed) {
  const Analysis analysis = analysed(kDisplaced);
  const Finding* finding = find(analysis, FindingId::CoresTaken);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::HasSubstr("cpu:0 queue"));
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep),
              0.8 * 0.46 * static_cast<double>(analysis.meanStepNs()),
              0.02 * static_cast<double>(analysis.meanStepNs()));
  ASSERT_FALSE(finding->evidence.empty());
  for (const Evidence& evidence : finding->evidence) {
    EXPECT_GE(evidence.startNs, analysis.window.startNs);
    EXPECT_LE(evidence.endNs, analysis.window.endNs);
    EXPECT_LT(evidence.startNs, evidence.endNs);
  }
  EXPECT_EQ(find(analysed({.syncEachStep = true, .hostCores = 2, .cpuDevice = true}),
                 FindingId::CoresTaken),
            nullptr);
}

TEST(CoresTakenFinding, CoresThatWereTakenBeforeTheFirstStepCostNoStepAnything) {
  RunPlan plan = kDisplaced;
  plan.displacedAtFirst = true;
  plan.setupKernels = 1;
  plan.setupCallNs = 2'000'000'000;
  const Analysis analysis = analysed(plan);
  EXPECT_EQ(find(analysis, FindingId::CoresTaken), nullptr);
  EXPECT_TRUE(analysis.of<CoreContention>().known);
  EXPECT_LT(analysis.of<CoreContention>().lostShare(), kNoContention);
}

}  // namespace
}  // namespace lacuna::analyzer
