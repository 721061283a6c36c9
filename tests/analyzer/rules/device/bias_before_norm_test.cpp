// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(BiasBeforeNormFinding, AFaultThatSomethingElseHidesIsReportedWithItsCost) {
  // A reduction of 0.9 ms for a bias, after waits for batches that take longer than all work of a
  // step.
  const RunPlan plan{
      .batchNs = 20'000'000, .workers = 1, .biasBeforeNorm = true, .biasGradientNs = 900'000};
  const Analysis analysis = analysed(plan);
  const Finding* finding = find(analysis, FindingId::BiasBeforeNorm);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 900'000);
  EXPECT_LT(finding->predictedGainNsPerStep, 100'000);
  EXPECT_THAT(finding->title, testing::EndsWith(": 900 µs a step"));
}

TEST(BiasBeforeNormFinding, ItsCostIsWorkAndLeavesIdleTimeToOtherFindings) {
  RunPlan plan{.profilerNs = 20'000'000};
  plan.biasBeforeNorm = true;
  plan.biasGradientNs = 900'000;
  const Analysis analysis = analysed(plan);
  const Finding* finding = find(analysis, FindingId::BiasBeforeNorm);
  const Finding* waits = find(analysis, FindingId::SyncInStep);
  const Finding* idle = find(analysis, FindingId::UnderUtilised);
  ASSERT_TRUE(finding != nullptr && waits != nullptr && idle != nullptr);
  EXPECT_GE(finding->costNsPerStep, 900'000);
  const Ledger step = analysis.meanStepLedger();
  const std::int64_t idleNs = step.totalNs() - step.busyNs();
  EXPECT_LT(idleNs - idle->costNsPerStep - waits->costNsPerStep, 100'000)
      << "idle time that no finding prices";
}

}  // namespace
}  // namespace lacuna::analyzer
