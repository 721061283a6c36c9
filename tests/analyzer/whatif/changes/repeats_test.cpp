// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Repeats, ALoopOverSamplesBecomesOneOperator) {
  const RunPlan plan{
      .steps = 30, .operators = 4, .batchNs = 1'000, .syncEachStep = true, .tinyRepeats = 60};
  RunPlan fixed = plan;
  fixed.tinyRepeats = 0;
  const Prediction joined = play(plan, "repeats=joined");
  EXPECT_GT(joined.gainNs(), 0);
  EXPECT_LT(static_cast<double>(joined.gainNs()), measured(plan) - measured(fixed))
      << "its work is still done";
  EXPECT_FALSE(play(fixed, "repeats=joined").touched);
}

}  // namespace
}  // namespace lacuna::analyzer
