// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/launches.h"
#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/report.h"

namespace lacuna::analyzer {
namespace {

TEST(SlowStepsFinding, SlowStepsAreThoseOfTheStepsThatWereAskedFor) {
  const RunPlan plan{.steps = 40, .slowStepNs = 20'000'000};
  const Analysis whole = analysed(plan);
  const Finding* slow = find(whole, FindingId::SlowSteps);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->evidence.size(), slow->count);
  AnalysisOptions between;
  between.steps = {10, 19};  // every tenth is slow: 9, 19, …
  EXPECT_EQ(find(analysed(plan, between), FindingId::SlowSteps), nullptr);
}

TEST(SlowStepsFinding, EvenStepsAreNone) {
  EXPECT_EQ(find(analysed({.steps = 40}), FindingId::SlowSteps), nullptr);
}

TEST(SlowStepsFinding, AStepInWhichAHostThatRunsAheadIsHeldBackIsNotSlow) {
  Analysis analysis = analysed({.steps = 40});
  ASSERT_GT(analysis.of<LaunchStats>().meanQueueDepth, 41) << "as many launches as a step has";
  for (std::size_t i = 9; i < analysis.steps.all.size(); i += 10) analysis.steps.all[i].endNs += 20'000'000;
  const auto isSlow = [&] {
    const std::vector<Finding> findings = findFindings(analysis, nullptr);
    return std::ranges::find(findings, FindingId::SlowSteps, &Finding::id) != findings.end();
  };
  EXPECT_FALSE(isSlow());
  EXPECT_THAT(describeRun(analysis), testing::HasSubstr("40 steps of 3.95 ms on average"));
  // What the device waits for in them is lost also then.
  for (std::size_t i = 9; i < analysis.steps.all.size(); i += 10)
    analysis.ledgers.steps[i].add(Cause::HostWork, 20'000'000);
  EXPECT_TRUE(isSlow());
  analysis.of<LaunchStats>().meanQueueDepth = 1;
  EXPECT_TRUE(isSlow());
}

}  // namespace
}  // namespace lacuna::analyzer
