// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Replication, CopiesOfTheModelGo) {
  const RunPlan plan{.steps = 20, .ranks = 2, .dataParallel = true};
  EXPECT_TRUE(play(plan, "replication*0").touched);
  EXPECT_GE(gain(plan, "replication*0"), 0);
  EXPECT_FALSE(play({.steps = 20}, "replication*0").touched);
}

}  // namespace
}  // namespace lacuna::analyzer
