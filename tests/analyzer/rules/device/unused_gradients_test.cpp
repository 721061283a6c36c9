// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

constexpr prof::TimeNs kMs = CpuTraining::kMs;

/// A forward of 2 ms and its backward in each step of 10.
CpuTraining& forwardAndBackward(CpuTraining& training) {
  return training.work(kMs / 10, 2 * kMs, "aten::linear", 1).work(5 * kMs, 4 * kMs, "AddmmBackward0", 1);
}

TEST(UnusedGradientsFinding, AForwardThatRunsTwiceIsFoundWithItsCost) {
  CpuTraining training;
  forwardAndBackward(training).work(2 * kMs + 200'000, 2 * kMs, "aten::linear", 2);
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::UnusedGradients);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 2 * kMs);
  EXPECT_EQ(finding->count, 12U);
  EXPECT_THAT(finding->title, testing::HasSubstr("50.0 % of the forward operators record gradients that no backward"));
  EXPECT_THAT(finding->title, testing::HasSubstr("aten::linear"));
  EXPECT_FALSE(finding->notPredicted.empty());
}

TEST(UnusedGradientsFinding, AForwardWithItsBackwardIsNone) {
  CpuTraining training;
  EXPECT_EQ(find(forwardAndBackward(training).analysed(), FindingId::UnusedGradients), nullptr);
}

TEST(UnusedGradientsFinding, AForwardWithoutGradientsIsNone) {
  CpuTraining training;
  forwardAndBackward(training).work(2 * kMs + 200'000, 2 * kMs, "aten::linear");
  EXPECT_EQ(find(training.analysed(), FindingId::UnusedGradients), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
