// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Backend, IsRefusedWithARecordingAndTheChangeThatPlaysAKnownSpeedUp) {
  const auto change = parseChange("backend=nccl");
  ASSERT_FALSE(change);
  EXPECT_THAT(change.error().message,
              testing::StartsWith("'backend=nccl' cannot be replayed: how fast another backend"));
  EXPECT_THAT(change.error().message, testing::HasSubstr("lacuna diff"));
  EXPECT_THAT(change.error().message, testing::HasSubstr("communication*FACTOR"));
}

TEST(Backend, TheChangeThatItNamesPlaysTheSpeedUp) {
  const RunPlan plan{.steps = 20, .ranks = 2, .syncEachStep = true, .collectiveNs = 2'000'000};
  EXPECT_NEAR(gain(plan, "communication*0.5"), 1e6, 0.05e6);
}

}  // namespace
}  // namespace lacuna::analyzer
