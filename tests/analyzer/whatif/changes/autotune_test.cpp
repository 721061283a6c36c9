// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Autotune, MatrixKernelsTakeATenthLess) {
  RunPlan plan{.steps = 30, .kernelName = "ampere_sgemm_128x64_nn", .syncEachStep = true};
  EXPECT_NEAR(gain(plan, "autotune=on"), 0.1 * 4e6, 0.02e6);
  plan.kernelName = "softmax_warp_forward";
  EXPECT_EQ(gain(plan, "autotune=on"), 0);
}

}  // namespace
}  // namespace lacuna::analyzer
