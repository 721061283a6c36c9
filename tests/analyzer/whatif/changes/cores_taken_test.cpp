// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(CoresTaken, AMachineOfItsOwnGivesBackTheLostShare) {
  const RunPlan plan{.steps = 60,
                     .batchNs = 3'000'000,
                     .workers = 0,
                     .syncEachStep = true,
                     .hostCores = 2,
                     .cpuDevice = true,
                     .loaderSleeps = true,
                     .displaced = 0.46};
  EXPECT_GT(gain(plan, "cores-taken*0"), gain(plan, "cores-taken*0.5"));
  EXPECT_GT(gain(plan, "cores-taken*0.5"), 0);
  EXPECT_EQ(gain({.steps = 30}, "cores-taken*0"), 0) << "others took nothing";
}

}  // namespace
}  // namespace lacuna::analyzer
