// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Allocator, DriverCallsTakeNoTimeOnceMemoryIsCached) {
  const RunPlan plan{.mallocNs = 3'000'000, .hostPauseNs = 2'000'000};
  EXPECT_NEAR(gain(plan, "allocator=cached"), 3e6, 0.4e6);
}

}  // namespace
}  // namespace lacuna::analyzer
