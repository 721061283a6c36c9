// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(ConvBias, ABiasBeforeANormGoesWithItsGradient) {
  const RunPlan slow{.steps = 30, .syncEachStep = true, .biasGradientNs = 1'500'000};
  RunPlan fixed = slow;
  fixed.biasGradientNs = 1;  // the other kernels stay
  EXPECT_NEAR(static_cast<double>(play(slow, "conv_bias=off").predictedNsPerStep), measured(fixed),
              0.02 * measured(fixed));
}

}  // namespace
}  // namespace lacuna::analyzer
