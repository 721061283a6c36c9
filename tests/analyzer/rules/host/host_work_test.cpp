// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
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

}  // namespace
}  // namespace lacuna::analyzer
