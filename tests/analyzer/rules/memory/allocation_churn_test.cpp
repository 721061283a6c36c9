// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(AllocationChurnFinding, WhatTheAllocatorTakesFromTheSystemIsPricedOnce) {
  const Analysis churning = analysed({.mallocNs = 3'000'000, .allocationChurn = true});
  const Finding* churn = find(churning, FindingId::AllocationChurn);
  ASSERT_NE(churn, nullptr);
  EXPECT_NEAR(static_cast<double>(churn->costNsPerStep), 3e6, 0.05 * 3e6);
  EXPECT_EQ(find(churning, FindingId::DriverCalls), nullptr);
  // Other calls of the driver are not the allocator's.
  const Analysis both =
      analysed({.mallocNs = 3'000'000, .allocationChurn = true, .driverCall = "cudaEventCreate"});
  ASSERT_NE(find(both, FindingId::AllocationChurn), nullptr);
  EXPECT_EQ(find(both, FindingId::AllocationChurn)->costNsPerStep, 0);
  ASSERT_NE(find(both, FindingId::DriverCalls), nullptr);
  EXPECT_EQ(find(both, FindingId::DriverCalls)->costNsPerStep,
            both.meanStepLedger()[Cause::DriverCall]);
  EXPECT_THAT(find(both, FindingId::DriverCalls)->advice,
              testing::StartsWith("cudaEventCreate takes the most"));
}

}  // namespace
}  // namespace lacuna::analyzer
