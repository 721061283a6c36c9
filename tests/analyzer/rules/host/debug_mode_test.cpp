// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(DebugModeFinding, ReadingANumberBehindEachLaunchIsNoDebugMode) {
  RunPlan plan{.operatorNs = 60'000, .syncEveryOperators = 1, .readsByCopy = true};
  EXPECT_THAT(faults(plan), testing::Not(testing::Contains(FindingId::DebugMode)));
  EXPECT_THAT(faults(plan), testing::Not(testing::Contains(FindingId::SlowLaunches)));
  EXPECT_THAT(faults(plan), testing::Contains(FindingId::SyncInStep));
  plan.readsByCopy = false;
  EXPECT_THAT(faults(plan), testing::Contains(FindingId::DebugMode));
}

}  // namespace
}  // namespace lacuna::analyzer
