// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(LoaderWorkers, WorkersTakeTheLoaderOutOfTheStep) {
  const RunPlan slow{.steps = 40, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true};
  RunPlan fixed = slow;
  fixed.workers = 4;
  EXPECT_NEAR(static_cast<double>(play(slow, "loader.workers=4").predictedNsPerStep),
              measured(fixed), 0.05 * measured(fixed));
}

TEST(LoaderWorkers, MoreWorkersHelpStarvedOnes) {
  const RunPlan slow{.steps = 40, .batchNs = 16'000'000, .workers = 1};
  RunPlan fixed = slow;
  fixed.workers = 2;
  EXPECT_NEAR(static_cast<double>(play(slow, "loader.workers=2").predictedNsPerStep),
              measured(fixed), 0.05 * measured(fixed));
}

TEST(LoaderWorkers, WorkersThatHandOverTogetherCountByWholeRounds) {
  // Some 4 ms a step; so few workers cannot keep up, and each round of theirs waits once.
  const RunPlan slow{.steps = 120, .batchNs = 60'000'000, .workers = 0, .syncEachStep = true};
  for (const int workers : {5, 6, 7, 9, 11}) {
    RunPlan fixed = slow;
    fixed.workers = workers;
    const auto prediction = play(slow, "loader.workers=" + std::to_string(workers));
    EXPECT_NEAR(static_cast<double>(prediction.predictedNsPerStep), 60e6 / workers,
                0.03 * 60e6 / workers)
        << workers;
    EXPECT_NEAR(static_cast<double>(prediction.predictedNsPerStep), measured(fixed),
                0.05 * measured(fixed))
        << workers;
  }
}

TEST(LoaderWorkers, MoreWorkersQuickenNeitherHandingOverNorWhatElseHoldsStepsUp) {
  EXPECT_LT(play(restlessRun(), "loader.workers=3").gainNs(), 10'000);
  RunPlan starved = restlessRun();
  starved.batchNs = 2'000'000;
  RunPlan fixed = starved;
  fixed.workers = 8;
  const auto gain = static_cast<double>(play(starved, "loader.workers=8").gainNs());
  const double waits = measured(starved) - measured(fixed);
  EXPECT_GE(gain, waits);
  EXPECT_LE(gain, 1.3 * waits);
}

TEST(LoaderWorkers, WorkersThatComputeCannotGainBeyondTheCores) {
  RunPlan slow{.steps = 40, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true};
  slow.hostCores = 2;
  slow.loaderComputes = true;
  const Prediction two = play(slow, "loader.workers=2");
  const Prediction many = play(slow, "loader.workers=16");
  EXPECT_GE(two.predictedNsPerStep, 12'000'000 / 2);
  EXPECT_GE(many.predictedNsPerStep, 12'000'000 / 2);
  EXPECT_NEAR(static_cast<double>(many.predictedNsPerStep),
              static_cast<double>(two.predictedNsPerStep),
              0.1 * static_cast<double>(two.predictedNsPerStep));
  EXPECT_GE(many.highNsPerStep, many.baseNsPerStep);
}

}  // namespace
}  // namespace lacuna::analyzer
