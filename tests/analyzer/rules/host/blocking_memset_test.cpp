// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(BlockingMemsetFinding, WaitsOfABlockingMemsetArePricedOnce) {
  RunPlan plan{.operators = 10, .kernelNs = 20'000, .blockingMemsetNs = 3'000'000};
  const Analysis alone = analysed(plan);
  EXPECT_NE(find(alone, FindingId::BlockingMemset), nullptr);
  EXPECT_GT(alone.meanStepLedger()[Cause::Synchronisation], 2'000'000);
  EXPECT_EQ(find(alone, FindingId::SyncInStep), nullptr);
  plan.stuckSyncNs = 2'000'000;
  const Analysis both = analysed(plan);
  const Finding* memset = find(both, FindingId::BlockingMemset);
  const Finding* sync = find(both, FindingId::SyncInStep);
  ASSERT_NE(memset, nullptr);
  ASSERT_NE(sync, nullptr);
  EXPECT_THAT(sync->advice, testing::StartsWith("avoid cudaStreamSynchronize"));
  EXPECT_GT(sync->costNsPerStep, 1'500'000);
  EXPECT_LT(static_cast<double>(sync->costNsPerStep + memset->costNsPerStep),
            1.2 * static_cast<double>(both.meanStepLedger()[Cause::Synchronisation]));
}

}  // namespace
}  // namespace lacuna::analyzer
