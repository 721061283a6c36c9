// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(BlockingCopyFinding, BlockingCallsOfTheSetUpAreNotCounted) {
  const Analysis analysis =
      analysed({.blockingCopyNs = 600'000, .setupCallNs = 1'000'000, .setupCall = "cudaMemcpy"});
  const Finding* finding = find(analysis, FindingId::BlockingCopy);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->count, 12U);
  EXPECT_THAT(finding->title,
              testing::StartsWith("1.0 cudaMemcpy calls a step hold the host for "));
}

TEST(BlockingCopyFinding, ABlockingCopyIsAsLargeAsItsOwnCopy) {
  const Analysis among = analysed({.blockingCopyNs = 600'000, .asyncCopies = 50});
  const Finding* finding = find(among, FindingId::BlockingCopy);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->count, 12U);
  const Analysis small =
      analysed({.pageableCopyNs = 2'000'000, .blockingCopyNs = 600'000, .blockingCopyBytes = 1024});
  EXPECT_EQ(find(small, FindingId::BlockingCopy), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
