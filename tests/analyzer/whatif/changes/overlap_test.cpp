// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Overlap, OverlappedCollectivesHoldUpTheOptimizerAlone) {
  const RunPlan slow{.steps = 30, .syncEachStep = true, .collectiveNs = 2'000'000};
  const Prediction prediction = play(slow, "overlap=on");
  RunPlan hidden = slow;
  hidden.collectiveNs = 0;
  EXPECT_TRUE(prediction.touched);
  EXPECT_LE(static_cast<double>(prediction.lowNsPerStep), measured(hidden));
  EXPECT_GE(prediction.highNsPerStep, prediction.baseNsPerStep);
}

}  // namespace
}  // namespace lacuna::analyzer
