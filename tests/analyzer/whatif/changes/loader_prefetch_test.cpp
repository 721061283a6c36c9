// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(LoaderPrefetch, PrefetchBoundsHowFarWorkersRunAhead) {
  const RunPlan plan{.steps = 40, .batchNs = 16'000'000, .workers = 1};
  EXPECT_GE(play(plan, "loader.prefetch=8").predictedNsPerStep, 15'900'000);
}

}  // namespace
}  // namespace lacuna::analyzer
