// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Loader, BatchesAreReadySoonerOnTheTrainingThread) {
  const RunPlan slow{.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true};
  EXPECT_NEAR(gain(slow, "loader*0.5"), 6e6, 0.3e6);
}

}  // namespace
}  // namespace lacuna::analyzer
