// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Host, AFasterHostMakesNoDriverCallFaster) {
  const RunPlan plan{.mallocNs = 3'000'000, .hostPauseNs = 2'000'000};
  const Prediction prediction = play(plan, "host*0");
  EXPECT_NEAR(static_cast<double>(prediction.gainNs()), 2e6, 4e5);
  EXPECT_NEAR(static_cast<double>(play(plan, "allocator=cached").gainNs()), 3e6, 4e5);
}

TEST(Host, AQuickerHostGainsTheIdleTimeAndNoMore) {
  // A collective that starts as soon as it is launched, after the gradients that it reduces.
  const auto analysis = analyse(test::makeRun({.steps = 30,
                                               .operators = 200,
                                               .kernelNs = 3'000,
                                               .syncEachStep = true,
                                               .collectiveNs = 3'000'000,
                                               .biasBeforeNorm = true}));
  ASSERT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  const auto idle = static_cast<double>(analysis->meanStepLedger().idleNs());
  for (const char* change : {"static_graph=on", "host*0"}) {
    const Prediction prediction = simulator->play(change);
    EXPECT_GT(static_cast<double>(prediction.gainNs()), 0.8 * idle) << change;
    EXPECT_LT(static_cast<double>(prediction.gainNs()), 1.03 * idle) << change;
    EXPECT_LT(static_cast<double>(prediction.baseNsPerStep - prediction.lowNsPerStep), 1.03 * idle)
        << change;
    EXPECT_LE(prediction.lowNsPerStep, prediction.predictedNsPerStep) << change;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
