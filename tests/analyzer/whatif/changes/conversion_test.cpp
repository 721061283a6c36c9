// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Conversion, OnlyAConversionOfTheSameTensorGoes) {
  RunPlan plan{.steps = 20, .roundTrips = 4};
  EXPECT_TRUE(play(plan, "conversion*0").touched);
  plan.tripsAreOfOne = false;
  EXPECT_FALSE(play(plan, "conversion*0").touched);
}

}  // namespace
}  // namespace lacuna::analyzer
