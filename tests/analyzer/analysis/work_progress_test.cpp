// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/work_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lacuna::analyzer {
namespace {

TEST(WorkProgress, GoesThroughItsPartsAndNeverBack) {
  std::vector<double> seen;
  WorkProgress progress([&](double share) {
    seen.push_back(share);
    return true;
  });
  progress.next(0.4);
  progress.at(0.5);
  progress.at(0.25);
  progress.at(7);
  progress.next(0.8);
  progress.at(-1);
  progress.at(0.5);
  std::vector<double> expected{0, 0.2, 0.2, 0.4, 0.4, 0.4, 0.6};
  EXPECT_THAT(seen, testing::Pointwise(testing::DoubleEq(), expected));
}

TEST(WorkProgress, ANoIsFinal) {
  int asked = 0;
  WorkProgress progress([&](double) { return ++asked < 2; });
  EXPECT_TRUE(progress.next(0.5));
  EXPECT_FALSE(progress.at(0.5));
  EXPECT_FALSE(progress.at(0.6));
  EXPECT_FALSE(progress.next(1));
  EXPECT_TRUE(progress.stopped());
  EXPECT_EQ(asked, 2);
  WorkProgress nobody({});
  EXPECT_TRUE(nobody.next(1) && nobody.at(1) && !nobody.stopped());
}

TEST(WorkProgress, PartsMayBeLeftBeforeTheirEnd) {
  std::vector<double> seen;
  WorkProgress progress([&](double share) {
    seen.push_back(share);
    return true;
  });
  progress.next(0.2);
  progress.next(0.2);
  progress.next(1);
  progress.at(1);
  EXPECT_THAT(seen, testing::ElementsAre(0, 0.2, 0.2, 1)) << "a part without a length adds nothing";
}

TEST(WorkProgress, BeforeItsFirstPartNothingIsDone) {
  double seen = -1;
  WorkProgress progress([&](double share) {
    seen = share;
    return true;
  });
  EXPECT_TRUE(progress.at(1));
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(cancelled().message, "cancelled");
}

}  // namespace
}  // namespace lacuna::analyzer
