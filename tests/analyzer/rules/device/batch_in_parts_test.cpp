// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

/// Steps of 10 ms: this many passes of 0.5 ms over an input of this shape, a backward of 3 ms for
/// all of them or for each, and the optimizer.
Analysis passes(int count, const char* shapes, bool answersEach = false) {
  CpuTraining training;
  for (int i = 0; i < count; ++i) {
    const prof::TimeNs at = i * kMs / 2;
    training.each(at, kMs * 3 / 10, "phase", "forward")
        .work(at + kMs / 100, kMs / 5, "aten::linear", 0, shapes);
    if (answersEach) training.each(at + kMs * 3 / 10, kMs / 10, "phase", "backward");
  }
  training.work(6 * kMs, 3 * kMs, "AddmmBackward0");
  if (!answersEach) training.each(6 * kMs, 3 * kMs, "phase", "backward");
  return training.each(9 * kMs, kMs, "phase", "optimizer").analysed();
}

TEST(BatchInPartsFinding, ALoopOverSamplesIsFoundWithItsCost) {
  const Analysis analysis = passes(12, "f32[1,64] f32[64,64]");
  const Finding* finding = find(analysis, FindingId::BatchInParts);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "the network runs 12 times before each backward pass, on inputs of f32[1,64]: 6.60 ms "
            "a step");
  EXPECT_EQ(finding->kind, FindingKind::Opportunity);
  EXPECT_EQ(finding->count, 144U);
  EXPECT_FALSE(finding->notPredicted.empty());
  ASSERT_FALSE(finding->evidence.empty());
}

TEST(BatchInPartsFinding, AFewPassesAreNone) {
  EXPECT_EQ(find(passes(6, "f32[1,64] f32[64,64]"), FindingId::BatchInParts), nullptr);
}

TEST(BatchInPartsFinding, LargeInputsAreNone) {
  EXPECT_EQ(find(passes(12, "f32[32,64] f32[64,64]"), FindingId::BatchInParts), nullptr);
}

TEST(BatchInPartsFinding, PassesWithABackwardEachAreNone) {
  EXPECT_EQ(find(passes(12, "f32[1,64] f32[64,64]", true), FindingId::BatchInParts), nullptr);
}

TEST(BatchInPartsFinding, WithoutShapesThereIsNothingToClaim) {
  EXPECT_EQ(find(passes(12, ""), FindingId::BatchInParts), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
