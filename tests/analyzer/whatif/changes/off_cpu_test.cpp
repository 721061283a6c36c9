// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(OffCpu, TimeAsleepGoesAndWorkStays) {
  const RunPlan plan{.steps = 30, .operators = 10, .batchNs = 1'000, .asleepNs = 2'000'000};
  EXPECT_NEAR(gain(plan, "off-cpu*0"), 2e6, 0.2e6);
  const RunPlan awake{.steps = 30, .operators = 10, .batchNs = 1'000, .hostPauseNs = 2'000'000};
  EXPECT_LT(gain(awake, "off-cpu*0"), 0.1e6);
}

}  // namespace
}  // namespace lacuna::analyzer
