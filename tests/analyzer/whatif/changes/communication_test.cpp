// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Communication, CollectivesTakeSoManyTimesAsLong) {
  const RunPlan slow{.steps = 30, .syncEachStep = true, .collectiveNs = 2'000'000};
  RunPlan fixed = slow;
  fixed.collectiveNs = 1'000'000;
  EXPECT_NEAR(static_cast<double>(play(slow, "communication*0.5").predictedNsPerStep),
              measured(fixed), 0.02 * measured(fixed));
}

}  // namespace
}  // namespace lacuna::analyzer
