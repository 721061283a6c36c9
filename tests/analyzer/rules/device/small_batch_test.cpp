// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(SmallBatchFinding, IdleTimeBetweenSmallLaunchesIsPricedOnce) {
  const Analysis analysis = analysed({.operators = 200, .kernelNs = 3'000});
  const Finding* launches = find(analysis, FindingId::LaunchBound);
  const Finding* batch = find(analysis, FindingId::SmallBatch);
  ASSERT_NE(launches, nullptr);
  ASSERT_NE(batch, nullptr);
  const Ledger step = analysis.meanStepLedger();
  EXPECT_LE(launches->costNsPerStep + batch->costNsPerStep,
            step[Cause::HostWork] + step[Cause::Launch]);
}

TEST(SmallBatchFinding, ALargerBatchIsPricedInSamples) {
  // 120 of 480 MiB are used, so three times the batch fits. Its 1.8 ms of kernels hide behind 3 ms
  // of launching them.
  const Analysis analysis = analysed({.steps = 20,
                                      .operators = 200,
                                      .kernelNs = 3'000,
                                      .batchNs = 1'000,
                                      .deviceBytes = 480u << 20,
                                      .knob = "batch",
                                      .knobValue = "64"});
  const Finding* finding = find(analysis, FindingId::SmallBatch);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  EXPECT_NEAR(finding->gainShare(), 2.0 / 3, 0.01);
  EXPECT_EQ(finding->knob, "batch*3") << "which can be played";
  EXPECT_NEAR(finding->samplesPerSecond, 64 / 3e-3, 0.02 * 64 / 3e-3);
  EXPECT_NEAR(finding->predictedSamplesPerSecond, 3 * finding->samplesPerSecond,
              0.02 * 3 * finding->samplesPerSecond);
  EXPECT_THAT(finding->advice, testing::StartsWith("try 3 times the batch: "));
  EXPECT_THAT(finding->advice, testing::HasSubstr("samples a second instead of 2"));
}

}  // namespace
}  // namespace lacuna::analyzer
