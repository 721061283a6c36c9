// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Sync, RemovedSynchronisationsLetTheQueueFill) {
  const RunPlan slow{.steps = 30, .operatorNs = 60'000, .syncEveryOperators = 4};
  RunPlan fixed = slow;
  fixed.syncEveryOperators = 0;
  EXPECT_NEAR(static_cast<double>(play(slow, "sync=off").predictedNsPerStep), measured(fixed),
              0.08 * measured(fixed));
}

TEST(Sync, EveryWordForOffTakesTheWaitsAway) {
  const RunPlan slow{.steps = 30, .operatorNs = 60'000, .syncEveryOperators = 4};
  const double off = gain(slow, "sync=off");
  EXPECT_GT(off, 0.1 * measured(slow));
  for (const char* change : {"sync=0", "sync=false", "sync=no"})
    EXPECT_EQ(gain(slow, change), off) << change;
}

TEST(Sync, WhatDoesNotConcernTheLoaderLeavesItsWaitsAsTheyAre) {
  for (const int workers : {1, 8}) {
    const RunPlan slow{
        .steps = 120, .batchNs = 8'000'000 * workers, .workers = workers, .syncEachStep = true};
    const Prediction prediction = play(slow, "sync=off");
    EXPECT_NEAR(static_cast<double>(prediction.predictedNsPerStep), measured(slow),
                0.05 * measured(slow))
        << workers;
  }
}

TEST(Sync, ThatAConsumerComesLateIsNotWhatHandingOverTakes) {
  // A batch is ready 0.2 ms before a step asks for it, and the steps without the waits take less
  // than that.
  const RunPlan slow{.steps = 60,
                     .operators = 6,
                     .operatorNs = 5'000,
                     .kernelNs = 20'000,
                     .batchNs = 200'000,
                     .workers = 8,
                     .syncEveryOperators = 1,
                     .batchesNumbered = true};
  RunPlan fixed = slow;
  fixed.syncEveryOperators = 0;
  ASSERT_LT(measured(fixed), 0.8 * measured(slow));
  EXPECT_NEAR(static_cast<double>(play(slow, "sync=off").predictedNsPerStep), measured(fixed),
              0.08 * measured(fixed));
}

}  // namespace
}  // namespace lacuna::analyzer
