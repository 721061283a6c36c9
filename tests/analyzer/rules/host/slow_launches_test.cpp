// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

/// 41 launch calls a step, each so long, of a device that has little to do.
RunPlan launching(std::int64_t launchNs) {
  return {.operatorNs = 200'000, .kernelNs = 20'000, .launchNs = launchNs};
}

TEST(SlowLaunchesFinding, IsTheFirstFaultAndHoldsWhatTheCallsTake) {
  const Analysis analysis = analysed(launching(120'000));
  ASSERT_FALSE(analysis.of<Findings>().empty());
  const Finding& finding = analysis.of<Findings>().front();
  ASSERT_EQ(finding.id, FindingId::SlowLaunches);
  EXPECT_NEAR(static_cast<double>(finding.accountedNsPerStep), 41 * 120e3, 0.05 * 41 * 120e3);
  EXPECT_EQ(finding.costNsPerStep, finding.predictedGainNsPerStep)
      << "a graph spares the operators' work, too";
  EXPECT_EQ(finding.count, 12 * 41U);
  EXPECT_THAT(finding.title, testing::StartsWith("half of the launch calls take 120 µs or more"));
  EXPECT_EQ(finding.knob, "static_graph=on");
  EXPECT_THAT(finding.advice, testing::StartsWith("look for a debugger or a second profiler"));
  EXPECT_FALSE(finding.evidence.empty());
}

TEST(SlowLaunchesFinding, BeginsAtItsMedianCall) {
  const auto slow = static_cast<std::int64_t>(thresholdOf(FindingId::SlowLaunches, "slow"));
  EXPECT_EQ(find(analysed(launching(slow - 1)), FindingId::SlowLaunches), nullptr);
  EXPECT_NE(find(analysed(launching(slow)), FindingId::SlowLaunches), nullptr);
}

TEST(SlowLaunchesFinding, BeginsAtItsShareOfTheStep) {
  // The thread sleeps for the rest of it.
  const auto asleep = [](std::int64_t ns) {
    return with(launching(60'000), [&](RunPlan& plan) { plan.asleepNs = ns; });
  };
  const std::int64_t edge = edgeOf(FindingId::SlowLaunches, asleep, 200'000'000, 1'000'000);
  expectBegins(FindingId::SlowLaunches, "least", partOfStep(analysed(asleep(edge)), 41 * 60'000));
}

TEST(SlowLaunchesFinding, CallsThatTheDevicesWorkHidesCostNothing) {
  EXPECT_EQ(find(analysed({.operatorNs = 130'000, .kernelNs = 400'000, .launchNs = 120'000}),
                 FindingId::SlowLaunches),
            nullptr);
}

TEST(SlowLaunchesFinding, AFewSlowCallsAreNoHabit) {
  // The first of a step loads its kernel's code.
  EXPECT_EQ(
      find(analysed(with(launching(4'000), [](RunPlan& plan) { plan.loadsCodeNs = 5'000'000; })),
           FindingId::SlowLaunches),
      nullptr);
}

TEST(SlowLaunchesFinding, ExplainsWhyTheHostIsSlow) {
  EXPECT_THAT(faults(launching(120'000)),
              testing::Not(testing::Contains(testing::AnyOf(
                  FindingId::LaunchBound, FindingId::HostWork, FindingId::LateStarts))));
}

}  // namespace
}  // namespace lacuna::analyzer
