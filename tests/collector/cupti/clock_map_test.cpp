// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/clock_map.h"

#include <gtest/gtest.h>

namespace lacuna::collector::cupti {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ClockMap, ShiftsByTheOffsetOfTheNearestPair) {
  ClockMap map;
  map.add(1000 * kSecond, 5 * kSecond);
  EXPECT_EQ(map.monotonic(1000 * kSecond + 7), 5 * kSecond + 7);
  EXPECT_EQ(map.monotonic(999 * kSecond), 4 * kSecond) << "before the first pair";
}

TEST(ClockMap, FollowsTheSlewBetweenPairs) {
  ClockMap map;
  map.add(1000 * kSecond, 5 * kSecond);
  map.add(1001 * kSecond - 1000, 6 * kSecond);  // REALTIME runs 1 µs/s slow
  EXPECT_NEAR(static_cast<double>(map.monotonic(1000 * kSecond + kSecond / 2)), 5.5e9 + 500, 2);
}

TEST(ClockMap, DoesNotSmearAStepOfRealtime) {
  ClockMap map;
  map.add(1000 * kSecond, 5 * kSecond);
  map.add(2001 * kSecond, 6 * kSecond);  // set forward by 1000 s
  EXPECT_EQ(map.monotonic(1000 * kSecond + 500), 5 * kSecond + 500);
  EXPECT_EQ(map.monotonic(2001 * kSecond + 500), 6 * kSecond + 500);
}

TEST(ClockMap, TakesTheNewestMeaningWhenRealtimeWasSetBack) {
  ClockMap map;
  map.add(1000 * kSecond, 5 * kSecond);
  map.add(900 * kSecond, 6 * kSecond);
  EXPECT_EQ(map.monotonic(901 * kSecond), 7 * kSecond);
}

TEST(ClockMap, KeepsTheNewestPairs) {
  ClockMap map;
  for (std::int64_t i = 0; i < 100; ++i) {
    map.add((1000 + i) * kSecond, (5 + i) * kSecond + i);
    map.keepNewest(10);
  }
  EXPECT_EQ(map.monotonic(1099 * kSecond), 104 * kSecond + 99);
  EXPECT_EQ(map.monotonic(1092 * kSecond), 97 * kSecond + 92) << "of the last ten";
  EXPECT_GE(map.monotonic(1010 * kSecond), 15 * kSecond + 80) << "by the oldest that is left";
}

TEST(ClockMap, LeavesStampsAloneWithoutPairs) {
  EXPECT_EQ(ClockMap().monotonic(42), 42);
}

}  // namespace
}  // namespace lacuna::collector::cupti
