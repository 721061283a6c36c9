// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(ThroughHost, CollectivesInHostMemoryGo) {
  const RunPlan plan{.steps = 20, .collectiveNs = 2'000'000, .gloo = true};
  EXPECT_TRUE(play(plan, "through-host*0").touched);
  EXPECT_FALSE(play({.steps = 20, .collectiveNs = 2'000'000}, "through-host*0").touched);
}

}  // namespace
}  // namespace lacuna::analyzer
