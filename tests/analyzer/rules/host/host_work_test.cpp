// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(HostWorkFinding, LaunchCallsThatTakeLongAreNotWorkOfTheProgram) {
  const Analysis analysis = analysed(with(kHostBound, [](RunPlan& p) { p.loadsCodeNs = 3'000'000; }));
  const Finding* finding = find(analysis, FindingId::HostWork);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::EndsWith("a step, most of it in launch calls of aten::block"));
  EXPECT_THAT(finding->advice, testing::HasSubstr("a kernel's first launch loads its code"));
}

TEST(HostWorkFinding, LongWorkOfTheHostBetweenLaunchesIsNotTheLaunches) {
  const auto found = faults({.operatorNs = 3'000'000});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), FindingId::HostWork);
  EXPECT_THAT(found, testing::Not(testing::Contains(FindingId::LaunchBound)));
}

TEST(HostWorkFinding, HostWorkInStepsThatAreNumberedIsOfOneName) {
  const Analysis analysis = analysed({.hostPauseNs = 3'000'000, .numberedSteps = true, .pauseIsNamed = false});
  const auto finding = std::ranges::find(analysis.of<Findings>(), FindingId::HostWork, &Finding::id);
  ASSERT_NE(finding, analysis.of<Findings>().end());
  EXPECT_THAT(finding->title, testing::EndsWith("most of it in step"));
  const auto named = [](const CauseDetail& detail) { return detail.name.starts_with("batch "); };
  EXPECT_EQ(std::ranges::count_if(analysis.of<IdleCauses>().details, named), 0);
}

TEST(HostWorkFinding, WhatCallingOperatorsTakesIsNoFault) {
  // A step of 10 ms calls 100 operators of 60 µs, with 40 µs of the interpreter between; another has the same idle time
  // in one piece.
  CpuTraining calling;
  for (int i = 0; i < 100; ++i) calling.work(i * 100'000, 60'000, "aten::add");
  const Analysis calls = calling.analysed();
  EXPECT_EQ(find(calls, FindingId::HostWork), nullptr);
  EXPECT_EQ(find(calls, FindingId::LaunchBound), nullptr) << "no operator that the caller executes could begin sooner";
  CpuTraining few;
  few.work(0, 6 * CpuTraining::kMs, "aten::add");
  EXPECT_NE(find(few.analysed(), FindingId::HostWork), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
