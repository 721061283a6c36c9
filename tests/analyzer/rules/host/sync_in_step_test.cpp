// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(SyncInStepFinding, AStepOfFewLaunchesMayWaitForItsLoss) {
  // As a captured graph: two launches and a synchronisation a step, and the device is hardly idle.
  EXPECT_THAT(faults({.steps = 40, .operators = 1, .kernelNs = 9'000'000, .syncEachStep = true}),
              testing::IsEmpty());
}

TEST(SyncInStepFinding, SmallCopiesOfTheSameNameAreNoneOfTheLargeOnes) {
  const Analysis both = analysed({.operatorNs = 60'000,
                                  .syncEveryOperators = 4,
                                  .blockingCopyNs = 600'000,
                                  .readsByCopy = true});
  const Finding* copy = find(both, FindingId::BlockingCopy);
  const Finding* sync = find(both, FindingId::SyncInStep);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->count, 12U);
  ASSERT_NE(sync, nullptr);
  EXPECT_EQ(sync->count, 120U);
  EXPECT_THAT(sync->title, testing::HasSubstr("10.0 synchronisations a step"));
}

TEST(SyncInStepFinding, ACallersNumberedStepIsOfOneName) {
  const Analysis analysis = analysed(
      {.operatorNs = 60'000, .syncEveryOperators = 4, .numberedSteps = true, .readsByCopy = true});
  ASSERT_NE(find(analysis, FindingId::SyncInStep), nullptr);
  EXPECT_THAT(find(analysis, FindingId::SyncInStep)->advice,
              testing::StartsWith("avoid cudaMemcpy in step: "));
}

}  // namespace
}  // namespace lacuna::analyzer
