// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/prediction_properties.h"

namespace lacuna::test {
namespace {

/// `scripts/bench properties` draws new ones, and many more.
TEST(DrawnRuns, KeepTheTruthsOfEveryPrediction) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    EXPECT_THAT(brokenProperties(drawnPlan(seed)), testing::IsEmpty()) << "seed " << seed;
}

}  // namespace
}  // namespace lacuna::test
