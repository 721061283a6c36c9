// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

TEST(RunDiff, TellsChangesFromNoise) {
  const std::vector<std::int64_t> quiet{100, 101, 99, 100, 100, 102, 98, 100};
  std::vector<std::int64_t> slower;
  for (const std::int64_t ns : quiet) slower.push_back(ns + 20);
  const Difference change = compareSteps("step", quiet, slower, 5);
  EXPECT_EQ(change.changeNs, 20);
  EXPECT_LE(change.lowNs, 20);
  EXPECT_GE(change.highNs, 20);
  EXPECT_GT(change.lowNs, 15);
  EXPECT_EQ(change.verdict, DiffVerdict::Slower);
  EXPECT_EQ(change.before.madNs, 0);
  EXPECT_EQ(compareSteps("step", slower, quiet, 5).verdict, DiffVerdict::Faster);
  const std::vector<std::int64_t> noisy{60, 140, 75, 130, 100, 90, 120, 80}, alike{65, 150, 80, 125, 104, 95, 118, 70};
  EXPECT_EQ(compareSteps("step", noisy, alike, 1).verdict, DiffVerdict::Same);
}

TEST(RunDiff, NamesWhatIsNewAndGone) {
  const std::vector<std::int64_t> some{50, 50, 50}, none;
  EXPECT_EQ(compareSteps("a", none, some, 5).verdict, DiffVerdict::New);
  EXPECT_EQ(compareSteps("a", some, none, 5).verdict, DiffVerdict::Gone);
  EXPECT_EQ(compareSteps("a", some, none, 60).verdict, DiffVerdict::Same);
}

}  // namespace
}  // namespace lacuna::analyzer
