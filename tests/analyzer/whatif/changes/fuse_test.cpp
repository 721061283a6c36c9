// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Fuse, NeighbouringPointwiseKernelsBecomeOne) {
  RunPlan plan{.steps = 30,
               .operators = 40,
               .kernelNs = 100'000,
               .kernelName = "vectorized_elementwise_kernel<4>"};
  plan.syncEachStep = true;
  const Prediction fused = play(plan, "fuse=on");
  // One kernel and 0.15 of 39 others.
  EXPECT_NEAR(static_cast<double>(fused.gainNs()), 0.85 * 39 * 1e5, 0.2e6);
  EXPECT_LT(fused.lowNsPerStep, fused.predictedNsPerStep);
  plan.kernelName = "softmax_warp_forward";
  EXPECT_LT(gain(plan, "fuse=on"), 0.1e6);
}

}  // namespace
}  // namespace lacuna::analyzer
