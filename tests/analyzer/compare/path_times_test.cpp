// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "compare/path_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;

TEST(PathTimes, AreSumsByStepInOrderOfPaths) {
  PathTimeSums sums;
  sums.add({.path = 7, .step = 2, .ns = 5});
  sums.addDevice({.path = 3, .step = 0, .ns = 10});
  sums.add({.path = 7, .step = 2, .ns = -1});
  sums.add({.path = 7, .step = 0, .ns = 3});
  const auto times = sums.byPath();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].path, 3U);
  EXPECT_EQ(times[0].deviceNs, 10);
  EXPECT_EQ(times[1].path, 7U);
  EXPECT_EQ(times[1].deviceNs, 0);
  EXPECT_THAT(times[1].byStep(4), ElementsAre(3, 0, 4, 0));
}

TEST(PathTimes, OfMoreThanABatchAddUp) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> expected;
  PathTimeSums sums;
  std::mt19937 engine(1);
  const auto random = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(engine() % below);
  };
  for (int i = 0; i < 500'000; ++i) {
    const StepTime time{random(50), random(40), std::int64_t{random(1000)} - 300};
    expected[{time.path, time.step}] += time.ns;
    sums.add(time);
  }
  std::size_t seen = 0;
  for (const PathTimes& times : sums.byPath()) {
    for (const StepTime& time : times.steps) {
      ++seen;
      EXPECT_EQ((expected[{times.path, time.step}]), time.ns);
    }
  }
  EXPECT_EQ(seen, 50U * 40U);
}

TEST(PathTimes, StopAtTheLargestSum) {
  PathTimeSums sums;
  constexpr auto kMost = prof::kMostOfSum<std::int64_t>;
  for (int i = 0; i < 3; ++i) sums.addDevice({.path = 1, .step = 0, .ns = kMost});
  const auto times = sums.byPath();
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].deviceNs, kMost);
  EXPECT_EQ(times[0].steps[0].ns, kMost);
}

}  // namespace
}  // namespace lacuna::analyzer
