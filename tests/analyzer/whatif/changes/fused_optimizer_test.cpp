// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(FusedOptimizer, AFusedOptimizerLaunchesOncePerKernelAndStep) {
  const RunPlan slow{.steps = 30,
                     .operators = 10,
                     .kernelNs = 2'000,
                     .batchNs = 10'000,
                     .syncEachStep = true,
                     .optimizerKernels = 60};
  RunPlan fixed = slow;
  fixed.optimizerKernels = 0;
  // The updates' computing remains; the launches, the gaps between them and the starts of kernels
  // go.
  const double expected = measured(fixed) + 2'000 + 59 * 500.0;
  EXPECT_NEAR(static_cast<double>(play(slow, "optimizer.fused=on").predictedNsPerStep), expected,
              0.15 * expected);
  EXPECT_LT(expected, 0.75 * measured(slow));
}

TEST(FusedOptimizer, AnOptimizerOfOneLaunchHasNothingToFuse) {
  RunPlan plan{.steps = 30,
               .operators = 10,
               .kernelNs = 2'000,
               .batchNs = 10'000,
               .syncEachStep = true,
               .optimizerKernels = 1};
  EXPECT_FALSE(play(plan, "optimizer.fused=on").touched);
  plan.optimizerKernels = 2;
  EXPECT_TRUE(play(plan, "optimizer.fused=on").touched);
}

}  // namespace
}  // namespace lacuna::analyzer
