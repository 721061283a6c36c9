// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(StaticGraph, AGraphHoldsAStepAndNotWhatLiesBetweenTwo) {
  const RunPlan plan{.steps = 30, .operators = 200, .kernelNs = 3'000, .syncEachStep = true};
  RunPlan waits = plan;
  waits.betweenStepsNs = 7'000'000;
  const Prediction without = play(plan, "static_graph=on"), with = play(waits, "static_graph=on");
  EXPECT_GT(without.gainNs(), 1'000'000);
  EXPECT_NEAR(static_cast<double>(with.gainNs()), static_cast<double>(without.gainNs()), 50'000);
}

TEST(StaticGraph, AGraphOfACpuWorksWhileItIsCalled) {
  RunPlan plan{.steps = 30,
               .operators = 50,
               .kernelNs = 20'000,
               .cpuDevice = true,
               .callsWork = true,
               .betweenStepsNs = 7'000'000};
  const auto expectWork = [&] {
    const Prediction prediction = play(plan, "static_graph=on");
    EXPECT_GT(prediction.predictedNsPerStep, 7'000'000 + 50 * 20'000);
    EXPECT_NEAR(static_cast<double>(prediction.gainNs()), 50 * 11'000.0, 50'000);
  };
  expectWork();
  // As PyTorch's operators are recorded.
  plan.callsWork = false;
  plan.callerWorks = true;
  expectWork();
}

TEST(StaticGraph, AGraphOfACpuWithAQueueOfItsOwnLeavesTheHostFree) {
  // As the runtime's operators: handing over takes no time that is recorded, and a thread works
  // them off.
  const RunPlan plan{
      .steps = 30, .operators = 200, .kernelNs = 3'000, .cpuDevice = true, .launchNs = 0};
  const Prediction prediction = play(plan, "static_graph=on");
  EXPECT_LT(prediction.predictedNsPerStep, 1.2 * 201 * 3'500)
      << "as long as the work and the gaps between";
}

}  // namespace
}  // namespace lacuna::analyzer
