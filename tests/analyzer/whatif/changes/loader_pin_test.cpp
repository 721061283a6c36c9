// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(LoaderPin, ACopyFromPinnedMemoryTakesHalfAndDoesNotBlockTheHost) {
  const RunPlan plan{.steps = 30,
                     .operators = 10,
                     .kernelNs = 20'000,
                     .batchNs = 1'000,
                     .pageableCopyNs = 2'000'000};
  EXPECT_NEAR(gain(plan, "loader.pin=on"), 1e6, 0.2e6);
  EXPECT_EQ(gain({.steps = 30}, "loader.pin=on"), 0) << "no copy is pageable";
}

}  // namespace
}  // namespace lacuna::analyzer
