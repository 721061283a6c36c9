// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Workspace, IsRefusedWithARecordingAndTheChangeThatPlaysAKnownSpeedUp) {
  const auto change = parseChange("workspace=4096");
  ASSERT_FALSE(change);
  EXPECT_THAT(change.error().message,
              testing::StartsWith("'workspace=4096' cannot be replayed: which algorithms"));
  EXPECT_THAT(change.error().message, testing::HasSubstr("lacuna diff"));
  EXPECT_THAT(change.error().message, testing::HasSubstr("kernel:NAME*FACTOR"));
}

TEST(Workspace, TheChangeThatItNamesPlaysTheSpeedUp) {
  const RunPlan plan{.steps = 20, .kernelName = "sgemm_128x64", .syncEachStep = true};
  EXPECT_NEAR(gain(plan, "kernel:sgemm*0.75"), 0.25 * 40 * 100e3, 0.05e6);
}

}  // namespace
}  // namespace lacuna::analyzer
