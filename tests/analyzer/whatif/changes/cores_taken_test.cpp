// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(CoresTaken, AMachineOfItsOwnGivesBackTheLostShare) {
  EXPECT_GT(gain(kDisplaced, "cores-taken*0"), gain(kDisplaced, "cores-taken*0.5"));
  EXPECT_GT(gain(kDisplaced, "cores-taken*0.5"), 0);
  EXPECT_EQ(gain({.steps = 30}, "cores-taken*0"), 0) << "others took nothing";
}

}  // namespace
}  // namespace lacuna::analyzer
