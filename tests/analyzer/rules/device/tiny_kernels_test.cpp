// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(TinyKernelsFinding, IsTheFirstFaultAndCostsWhatTheLoopTakesToLaunch) {
  const Analysis analysis = analysed({.tinyRepeats = 300});
  ASSERT_FALSE(analysis.of<Findings>().empty());
  const Finding& finding = analysis.of<Findings>().front();
  ASSERT_EQ(finding.id, FindingId::TinyKernels);
  EXPECT_THAT(
      finding.title,
      testing::StartsWith("600 tiny kernels a step: softmax_row, max_row repeat up to 300 times"));
  // From the first of 600 launches of 4 µs to the last.
  EXPECT_NEAR(static_cast<double>(finding.costNsPerStep), 599 * 4e3, 0.01 * 599 * 4e3);
  EXPECT_EQ(finding.knob, "") << "only code joins them";
  EXPECT_THAT(finding.advice, testing::HasSubstr("one operator over all samples"));
}

TEST(TinyKernelsFinding, OneOperatorInsteadGainsItsLaunches) {
  // 400 launches of 4 µs become two; after these, 260 µs of device work are left to wait for.
  const Analysis analysis =
      analysed(with(kHostBound, [](RunPlan& plan) { plan.tinyRepeats = 200; }));
  const Finding* finding = find(analysis, FindingId::TinyKernels);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  constexpr double kGainNs = 398 * 4e3 - 260e3;
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), kGainNs, 0.05 * kGainNs);
  EXPECT_GE(finding->costNsPerStep, finding->predictedGainNsPerStep);
}

TEST(TinyKernelsFinding, BeginsAtSoManyLaunchesAStep) {
  // 64 launches in each step that has the loop; one in two has it, or one in three.
  ASSERT_EQ(thresholdOf(FindingId::TinyKernels, "launches"), 64 / 2);
  const RunPlan half =
      with(kHostBound, [](RunPlan& plan) { plan.tinyRepeats = 32, plan.tinyEverySteps = 2; });
  EXPECT_NE(find(analysed(half), FindingId::TinyKernels), nullptr);
  RunPlan third = half;
  third.steps = 21;
  third.tinyEverySteps = 3;
  EXPECT_EQ(find(analysed(third), FindingId::TinyKernels), nullptr);
}

TEST(TinyKernelsFinding, BeginsAtItsShareOfTheStep) {
  const auto paused = [](std::int64_t ns) {
    return RunPlan{.hostPauseNs = ns, .tinyRepeats = 100};
  };
  const std::int64_t edge = edgeOf(FindingId::TinyKernels, paused, 100'000'000, 1'000'000);
  expectBegins(FindingId::TinyKernels, "least", partOfStep(analysed(paused(edge)), 199 * 4'000));
}

TEST(TinyKernelsFinding, AShortLoopIsNone) {
  EXPECT_NE(find(analysed(with(kHostBound, [](RunPlan& plan) { plan.tinyRepeats = 32; })),
                 FindingId::TinyKernels),
            nullptr);
  EXPECT_EQ(find(analysed(with(kHostBound, [](RunPlan& plan) { plan.tinyRepeats = 31; })),
                 FindingId::TinyKernels),
            nullptr);
}

TEST(TinyKernelsFinding, KernelsThatHaveWorkAreNoneHoweverOftenTheyRepeat) {
  EXPECT_EQ(find(analysed({.operators = 200, .kernelNs = 11'000, .syncEachStep = true}),
                 FindingId::TinyKernels),
            nullptr);
}

TEST(TinyKernelsFinding, LaunchesOfSeveralDevicesAreOfOne) {
  const Analysis analysis = analysed({.ranks = 4, .tinyRepeats = 300});
  ASSERT_NE(find(analysis, FindingId::TinyKernels), nullptr);
  EXPECT_THAT(find(analysis, FindingId::TinyKernels)->title,
              testing::StartsWith("600 tiny kernels a step"));
}

}  // namespace
}  // namespace lacuna::analyzer
