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
  map.add(1010 * kSecond, 116 * kSecond);
  EXPECT_EQ(map.monotonic(901 * kSecond), 7 * kSecond);
  EXPECT_EQ(map.monotonic(1000 * kSecond), 106 * kSecond);
  EXPECT_EQ(map.monotonic(1011 * kSecond), 116 * kSecond) << "no stamp is of the future";
}

TEST(ClockMap, KnowsOnWhichSideOfASettingAStampLies) {
  for (const std::int64_t step : {50 * kSecond, -50 * kSecond}) {
    ClockMap map;
    map.add(1000 * kSecond, 5 * kSecond);
    map.add(1001 * kSecond + step, 6 * kSecond);
    EXPECT_EQ(map.monotonic(1000 * kSecond + 800'000'000), 5 * kSecond + 800'000'000);
    EXPECT_EQ(map.monotonic(1000 * kSecond + 900'000'000 + step), 5 * kSecond + 900'000'000);
    EXPECT_EQ(map.length(1000 * kSecond + 800'000'000, 1001 * kSecond + step), 200'000'000);
    EXPECT_EQ(map.timesSet(), 1u);
    EXPECT_EQ(map.mostSetNs(), 50 * kSecond);
  }
}

TEST(ClockMap, KeepsStampsBetweenTwoSettingsWithinThePairsAroundThem) {
  ClockMap map;
  map.add(1000 * kSecond, 5 * kSecond);
  map.add(1001 * kSecond - 200 * kSecond, 6 * kSecond);
  // Before that it was set forward, unseen, by an hour.
  const prof::TimeNs time = map.monotonic(1000 * kSecond + 3600 * kSecond);
  EXPECT_GE(time, 5 * kSecond);
  EXPECT_LE(time, 6 * kSecond);
}

TEST(ClockMap, ForgetsSettingsWithTheirPairs) {
  ClockMap map;
  map.add(1000 * kSecond, 1 * kSecond);
  for (std::int64_t i = 0; i < 50; ++i) {
    map.add((2000 + i) * kSecond, (5 + i) * kSecond);
    map.keepNewest(10);
  }
  EXPECT_EQ(map.timesSet(), 1u);
  EXPECT_EQ(map.monotonic(1000 * kSecond), (1000 - 1995) * kSecond) << "the oldest left decides";
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
