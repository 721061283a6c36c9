// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "analyzer/rules/rule_runs.h"
#include "support/planted_runs.h"

namespace lacuna::analyzer {
namespace {

constexpr int kFirst = 40, kPlain = 60, kLast = 20;

/// The same run with more steps. Half of all steps are plain.
RunPlan withPlainSteps(RunPlan plan) {
  plan.steps = kFirst + kPlain + kLast;
  plan.plainFrom = kFirst;
  plan.plainUntil = kFirst + kPlain;
  return plan;
}

/// A spike of memory in a plain step is not recorded.
bool isComparable(const RunPlan& plan) {
  return !plan.memorySpike && plan.stepsMarked;
}

void expectAlike(std::int64_t is, std::int64_t was, double share, const char* what) {
  EXPECT_NEAR(static_cast<double>(is), static_cast<double>(was),
              share * std::abs(static_cast<double>(was)) + 2'000)
      << what;
}

void compare(RunPlan plan) {
  plan.steps = kFirst;
  const Analysis all = analysed(plan), some = analysed(withPlainSteps(plan));
  EXPECT_EQ(some.everyStepCount(), kFirst + kPlain + kLast);
  EXPECT_EQ(some.stepCount(), kFirst + kLast);
  expectAlike(some.meanStepNs(), all.meanStepNs(), 0.05, "mean step");
  const Ledger step = some.meanStepLedger(), was = all.meanStepLedger();
  for (std::size_t i = 0; i < kCauseCount; ++i)
    EXPECT_NEAR(static_cast<double>(step.ns[i]), static_cast<double>(was.ns[i]),
                0.05 * static_cast<double>(was.totalNs()))
        << causeKey(static_cast<Cause>(i));
  for (const Finding& finding : all.of<Findings>()) {
    if (finding.kind != FindingKind::Fault) continue;
    const Finding* same = find(some, finding.id);
    ASSERT_NE(same, nullptr) << finding.title;
    expectAlike(same->costNsPerStep, finding.costNsPerStep, 0.15, finding.title.c_str());
    expectAlike(same->predictedGainNsPerStep, finding.predictedGainNsPerStep, 0.15,
                finding.title.c_str());
  }
}

TEST(PlainSteps, ChangeNoFigureOfAStep) {
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    const RunPlan plan = test::anyPlan(seed);
    if (!isComparable(plan)) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    compare(plan);
  }
}

}  // namespace
}  // namespace lacuna::analyzer
