// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Copy, CopiesTakeSoManyTimesAsLong) {
  const RunPlan plan{.steps = 30, .operators = 10, .batchNs = 1'000, .pageableCopyNs = 2'000'000};
  EXPECT_NEAR(gain(plan, "copy*0.5"), 1e6, 0.1e6);
  EXPECT_NEAR(gain(plan, "copy*2"), -2e6, 0.1e6);
}

}  // namespace
}  // namespace lacuna::analyzer
