// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/whatif/play.h"
#include "lacuna/analyzer/findings.h"

namespace lacuna::analyzer {
namespace {

/// Each limit on the step takes up where the one before ended, from the replay to the prediction.
void expectChain(const Prediction& prediction) {
  std::int64_t now = prediction.playedNsPerStep;
  for (const GainLimit& limit : prediction.limits.all()) {
    if (limit.of != GainLimit::Of::Step) continue;
    EXPECT_EQ(limit.beforeNs, now) << limit.name;
    now = limit.afterNs;
  }
  EXPECT_EQ(now, prediction.predictedNsPerStep);
}

std::string_view decidedBy(const Prediction& prediction) {
  const GainLimit* decisive = prediction.limits.decisive();
  return decisive == nullptr ? "replay" : decisive->name;
}

bool passed(const Prediction& prediction, std::string_view name) {
  return std::ranges::any_of(prediction.limits.all(),
                             [&](const GainLimit& limit) { return limit.name == name; });
}

TEST(GainLimits, TheLastThatMovesTheStepDecides) {
  GainLimits limits;
  EXPECT_EQ(limits.atLeast({.name = "a", .reason = {}}, 5, 7), 7);
  EXPECT_EQ(limits.atLeast({.name = "b", .reason = {}}, 7, 6), 7);
  EXPECT_EQ(limits.atLeast({.name = "c", .reason = {}, .of = GainLimit::Of::High}, 7, 9), 9);
  EXPECT_EQ(limits.atMost({.name = "d", .reason = {}, .of = GainLimit::Of::Pieces}, 7, 6), 6);
  ASSERT_EQ(limits.all().size(), 4U);
  ASSERT_NE(limits.decisive(), nullptr);
  EXPECT_EQ(limits.decisive()->name, "a");
  EXPECT_EQ(GainLimits().decisive(), nullptr);
}

TEST(GainLimits, WithoutALimitTheReplayDecides) {
  const Prediction prediction = play({.steps = 30, .syncEachStep = true}, "kernel*0.5");
  EXPECT_EQ(decidedBy(prediction), "replay");
  EXPECT_EQ(prediction.playedNsPerStep, prediction.predictedNsPerStep);
  expectChain(prediction);
}

TEST(GainLimits, AQuickerHostEndsAtTheDevicesWork) {
  const Prediction prediction = play(
      {.steps = 30, .operators = 200, .kernelNs = 3'000, .syncEachStep = true}, "static_graph=on");
  EXPECT_TRUE(passed(prediction, "busy-device"));
  expectChain(prediction);
}

TEST(GainLimits, StepsThatDifferForOtherReasonsKeepTheWaitsLimit) {
  const Prediction prediction = play(restlessRun(), "loader.workers=3");
  ASSERT_EQ(decidedBy(prediction), "waits");
  EXPECT_EQ(prediction.limits.decisive()->constant.name, "kDisturbed");
  EXPECT_EQ(prediction.limits.decisive()->constant.value, 1.25);
  EXPECT_TRUE(passed(prediction, "pieces"));
  expectChain(prediction);
}

TEST(GainLimits, WorkersThatComputeEndAtTheCores) {
  const RunPlan plan{.steps = 40,
                     .batchNs = 12'000'000,
                     .workers = 0,
                     .syncEachStep = true,
                     .hostCores = 2,
                     .loaderComputes = true};
  const Prediction prediction = play(plan, "loader.workers=16");
  EXPECT_EQ(decidedBy(prediction), "cores");
  EXPECT_TRUE(passed(prediction, "cores-shared")) << "its interval reaches to no gain";
  expectChain(prediction);
}

TEST(GainLimits, AChangeOfNothingLeavesTheStepAsItIs) {
  const Prediction prediction = play({.steps = 30}, "zero_grad=none");
  EXPECT_TRUE(passed(prediction, "untouched"));
  expectChain(prediction);
}

TEST(GainLimits, TheIntervalIsMadeOfItsDoubts) {
  const Prediction prediction =
      play({.steps = 30, .batchNs = 20'000'000, .workers = 0}, "loader.workers=4");
  EXPECT_EQ(prediction.doubt.knownError, 0.05);
  EXPECT_THAT(prediction.doubt.knownFrom, testing::HasSubstr("scripts/bench predict"));
  const double half = prediction.doubt.sigmas.value * prediction.doubt.sigma() *
                      static_cast<double>(prediction.predictedNsPerStep);
  EXPECT_NEAR(static_cast<double>(prediction.highNsPerStep - prediction.predictedNsPerStep), half,
              1);
}

}  // namespace
}  // namespace lacuna::analyzer
