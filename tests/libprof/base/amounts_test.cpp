// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/amounts.h"

#include <gtest/gtest.h>

namespace lacuna::prof {
namespace {

TEST(Amounts, TimesHaveThreeDigits) {
  EXPECT_EQ(timeText(0), "0 ns");
  EXPECT_EQ(timeText(999), "999 ns");
  EXPECT_EQ(timeText(0.5), "0.50 ns");
  EXPECT_EQ(timeText(1240), "1.24 µs");
  EXPECT_EQ(timeText(12'345'678), "12.3 ms");
  EXPECT_EQ(timeText(-12'345'678), "-12.3 ms");
  EXPECT_EQ(timeText(90e9), "90.0 s");
}

TEST(Amounts, RoundingUpToTheNextUnitTakesIt) {
  EXPECT_EQ(timeText(999'499), "999 µs");
  EXPECT_EQ(timeText(999'999), "1.00 ms");
  EXPECT_EQ(timeText(9'996'000), "10.0 ms");
  EXPECT_EQ(timeText(99'960'000), "100 ms");
  EXPECT_EQ(bytesText((1 << 20) - 1), "1.00 MiB");
}

TEST(Amounts, LongTimesHaveTwoUnits) {
  EXPECT_EQ(timeText(119.9e9), "120 s");
  EXPECT_EQ(timeText(185.9e9), "3 min 05 s");
  EXPECT_EQ(timeText(7200e9), "2 h 00 min");
  EXPECT_EQ(timeText(-90'061e9), "-25 h 01 min");
}

TEST(Amounts, BytesAreInPowersOf1024) {
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(-(40ll << 20)), "-40.0 MiB");
  EXPECT_EQ(bytesText(80ull << 30), "80.0 GiB");
  EXPECT_EQ(rateText(2.04e12), "2.04 TB/s");
  EXPECT_EQ(rateText(999), "999 B/s");
  EXPECT_EQ(bytesText(UINT64_MAX), "16384 PiB");
}

TEST(Amounts, AnAxisHasOneUnit) {
  EXPECT_EQ(bytesAxisText(0, 200e6), "0 MiB");
  EXPECT_EQ(bytesAxisText(128 << 20, 200e6), "128 MiB");
  EXPECT_EQ(bytesAxisText(512 << 20, 1.1e9), "0.5 GiB");
  EXPECT_EQ(bytesAxisText(0, 900), "0 B");
}

TEST(Amounts, CountsHaveCommasAndPlurals) {
  EXPECT_EQ(countText(0), "0");
  EXPECT_EQ(countText(999), "999");
  EXPECT_EQ(countText(1'234'567), "1,234,567");
  EXPECT_EQ(countText(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(countText(12'000, "copy", "copies"), "12,000 copies");
  EXPECT_EQ(countText(0, "step"), "0 steps");
  EXPECT_EQ(scaledCount(950), "950");
  EXPECT_EQ(scaledCount(1'234'567), "1.23 M");
}

TEST(Amounts, SharesHaveOneDecimal) {
  EXPECT_EQ(shareText(0.1234), "12.3 %");
  EXPECT_EQ(shareText(1), "100.0 %");
}

TEST(Amounts, RoundNumbersHaveNoZerosBehindThem) {
  EXPECT_EQ(roundTimeText(50'000), "50 µs");
  EXPECT_EQ(roundTimeText(1.5e9), "1.5 s");
  EXPECT_EQ(roundBytesText(16 << 20), "16 MiB");
}

}  // namespace
}  // namespace lacuna::prof
