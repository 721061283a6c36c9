// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Kernel, FasterKernelsShortenADeviceBoundStep) {
  const RunPlan slow{.steps = 30, .syncEachStep = true};
  RunPlan fixed = slow;
  fixed.kernelNs = 50'000;
  EXPECT_NEAR(static_cast<double>(play(slow, "kernel:*0.5").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
}

TEST(Kernel, FasterKernelsDoNotHelpAHostBoundStep) {
  const Prediction prediction = play({.operators = 200, .kernelNs = 3'000}, "kernel:*0.5");
  EXPECT_LT(prediction.gainNs() * 50, prediction.baseNsPerStep);
}

TEST(Kernel, PatternsChooseKernels) {
  const RunPlan plan{.syncEachStep = true};
  EXPECT_EQ(play(plan, "kernel:nothing*0.1").gainNs(), 0);
  EXPECT_GT(play(plan, "kernel:BLOCK*kernel*0.5").gainNs(), 0);
}

TEST(Kernel, KernelsThatTheRunHasNotAreAnErrorThatNamesThoseItHas) {
  const auto analysis = analyse(test::makeRun({}));
  ASSERT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  for (const char* text :
       {"kernel:BLOCK*kernel*0.5", "kernel*0.5", "host*0.5", "copy*0.5", "sync=off"}) {
    EXPECT_TRUE(simulator->check(*parseChange(text))) << text;
  }
  const auto typo = simulator->check(*parseChange("kernel:blcok*0.5"));
  ASSERT_FALSE(typo);
  EXPECT_THAT(typo.error().message,
              testing::AllOf(testing::HasSubstr("'kernel:blcok*0.5'"),
                             testing::HasSubstr("'blcok'"), testing::HasSubstr("block")));
}

}  // namespace
}  // namespace lacuna::analyzer
