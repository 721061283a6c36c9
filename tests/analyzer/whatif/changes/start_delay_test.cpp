// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(StartDelay, WorkStartsWithoutTheDelay) {
  const RunPlan plan{.steps = 30,
                     .operators = 10,
                     .batchNs = 1'000,
                     .syncEachStep = true,
                     .startDelayNs = 1'500'000};
  EXPECT_NEAR(gain(plan, "start-delay*0"), 1.5e6, 0.15e6);
}

}  // namespace
}  // namespace lacuna::analyzer
