// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(BiasBeforeNormFinding, AFaultThatSomethingElseHidesIsToldOfWithItsCost) {
  // A reduction of 0.9 ms for a bias, behind waits for batches that take longer than all work of a step.
  const RunPlan plan{.batchNs = 20'000'000, .workers = 1, .biasBeforeNorm = true, .biasGradientNs = 900'000};
  const Analysis analysis = analysed(plan);
  const Finding* finding = find(analysis, FindingId::BiasBeforeNorm);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 900'000);
  EXPECT_LT(finding->predictedGainNsPerStep, 100'000);
  EXPECT_THAT(finding->title, testing::EndsWith(": 900 µs a step"));
}

}  // namespace
}  // namespace lacuna::analyzer
