// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(ZeroGrad, GradientsThatAreNotFilledWithZerosAreNotAddedToEither) {
  const RunPlan slow{
      .steps = 30, .syncEachStep = true, .zeroGradNs = 2'000'000, .accumulateNs = 100'000};
  RunPlan fixed = slow;
  fixed.zeroGradNs = fixed.accumulateNs = 0;
  EXPECT_NEAR(static_cast<double>(play(slow, "zero_grad=none").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
  // Additions that nothing was filled with zeros for are of another sort.
  const RunPlan kept{.steps = 30, .syncEachStep = true, .accumulateNs = 100'000};
  EXPECT_EQ(play(kept, "zero_grad=none").gainNs(), 0);
  // So are zeros that an operator writes into memory of its own.
  const RunPlan own{
      .steps = 30, .syncEachStep = true, .zeroGradNs = 2'000'000, .zerosIn = "aten::zeros"};
  EXPECT_EQ(play(own, "zero_grad=none").gainNs(), 0);
}

}  // namespace
}  // namespace lacuna::analyzer
