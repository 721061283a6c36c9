// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/launches.h"
#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/report.h"
#include "support/training_phases.h"

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
  for (std::size_t i = 9; i < analysis.steps.all.size(); i += 10)
    analysis.steps.all[i].endNs += 20'000'000;
  const auto isSlow = [&] {
    const std::vector<Finding> findings = findFindings(analysis, nullptr);
    return std::ranges::find(findings, FindingId::SlowSteps, &Finding::id) != findings.end();
  };
  EXPECT_FALSE(isSlow());
  EXPECT_THAT(describeRun(analysis), testing::HasSubstr("40 steps of 3.95 ms on average"));
  // The time that the device waits in them is lost also then.
  for (std::size_t i = 9; i < analysis.steps.all.size(); i += 10)
    analysis.ledgers.steps[i].add(Cause::HostWork, 20'000'000);
  EXPECT_TRUE(isSlow());
  analysis.of<LaunchStats>().meanQueueDepth = 1;
  EXPECT_TRUE(isSlow());
}

TEST(SlowStepsFinding, PausesBetweenStepsThatNothingNamesAreLost) {
  test::TrainingPhases training;
  for (int i = 0; i < 4; ++i) training.steps(5).pause(20);
  const Analysis analysis = training.steps(5).analysed();
  const Finding* finding = find(analysis, FindingId::SlowSteps);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "4 pauses between steps are longer than usual: 3.20 ms a step on average");
  EXPECT_EQ(finding->evidence.front().endNs - finding->evidence.front().startNs, 20'000'000);
}

TEST(SlowStepsFinding, StepsThatAreSlowForAPhaseWithANameAreNone) {
  const auto slow = [](const char* name) {
    test::TrainingPhases training;
    for (int i = 0; i < 4; ++i) {
      training.steps(8);
      training.trace.step(training.nowMs() * 1'000, (training.nowMs() + 29) * 1'000);
      training.inNextStep(2, 20, name).pause(30);
    }
    const Analysis analysis = training.analysed();
    return find(analysis, FindingId::SlowSteps) != nullptr;
  };
  EXPECT_FALSE(slow("validation"));
  EXPECT_TRUE(slow("load"));
}

}  // namespace
}  // namespace lacuna::analyzer
