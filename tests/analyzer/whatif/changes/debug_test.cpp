// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Debug, DebugChecksGoWithTheSynchronisationThatLooksAtThem) {
  RunPlan checked{.steps = 30, .operatorNs = 60'000, .syncEveryOperators = 1};
  checked.kernelName = "is_finite";
  const RunPlan plain{.steps = 30, .operatorNs = 60'000};
  EXPECT_LT(play(checked, "debug=off").predictedNsPerStep, play(plain, "host*1").measuredNsPerStep);
  checked.kernelName = "block";
  EXPECT_NEAR(static_cast<double>(play(checked, "debug=off").predictedNsPerStep), measured(plain),
              0.08 * measured(plain));
}

}  // namespace
}  // namespace lacuna::analyzer
