// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Call, CallsAreChosenByNameAndAWholeNameByQuotes) {
  const RunPlan plan{.steps = 20,
                     .operators = 10,
                     .kernelNs = 4'000,
                     .batchNs = 1'000,
                     .blockingMemsetNs = 3'000'000};
  EXPECT_NEAR(static_cast<double>(play(plan, "call:memset*0").gainNs()), 3e6, 0.05 * 3e6);
  EXPECT_NEAR(static_cast<double>(play(plan, "call:\"cudaMemset\"*0").gainNs()), 3e6, 0.05 * 3e6);
  EXPECT_FALSE(play(plan, "call:\"Memset\"*0").touched);
  EXPECT_EQ(parseChange("call:\"cudaMemset\"*0")->text(), "call:\"cudaMemset\"*0");
}

TEST(Call, CallsThatThereAreNoneOfAreRefusedWithThoseThatThereAre) {
  const auto analysis = analyse(test::makeRun({.syncEachStep = true, .mallocNs = 3'000'000}));
  const auto simulator = Simulator::create(*analysis);
  const auto refused = simulator->check(*parseChange("call:nothing*0"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("there are: cudaLaunchKernel, "));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("cudaMalloc"));
  EXPECT_TRUE(simulator->check(*parseChange("call:malloc*0")));
}

}  // namespace
}  // namespace lacuna::analyzer
