// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(LateStartsFinding, AThreadThatWakesUpLateIsNoLateStart) {
  RunPlan plan = kHostBound;
  plan.startDelayNs = 3'000'000;
  plan.cpuDevice = true;
  EXPECT_EQ(find(analysed(plan), FindingId::LateStarts), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
