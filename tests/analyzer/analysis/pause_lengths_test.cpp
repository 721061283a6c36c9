// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/pause_lengths.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lacuna::analyzer {
namespace {

/// 100 pauses of a length, and one that is longer.
PauseLengths pauses(std::int64_t usualNs, std::int64_t longNs) {
  PauseLengths lengths;
  for (int i = 0; i < 100; ++i) lengths.add(usualNs, usualNs);
  lengths.add(longNs, longNs);
  return lengths;
}

TEST(PauseLengths, APauseIsLongFromTenUsualOnesOn) {
  EXPECT_EQ(pauses(30'000, 400'000).countedLongNs(), 400'000);
  EXPECT_EQ(pauses(30'000, 200'000).countedLongNs(), 0);
  EXPECT_NEAR(static_cast<double>(pauses(30'000, 1).longNs()), 300'000, 60'000)
      << "within two tenths, one of either length";
}

TEST(PauseLengths, NoPauseOfLessThanATenthOfAMillisecondIsLong) {
  EXPECT_EQ(pauses(1'000, 80'000).countedLongNs(), 0);
  EXPECT_EQ(pauses(1'000, 110'000).countedLongNs(), 110'000);
}

TEST(PauseLengths, EveryPauseOfHalfAMillisecondIsLong) {
  EXPECT_EQ(pauses(400'000, 510'000).countedLongNs(), 510'000);
  EXPECT_EQ(pauses(2'000'000, 510'000).countedLongNs(), 100 * 2'000'000 + 510'000);
}

TEST(PauseLengths, OnlyTheCountedPartOfALongPauseIsSummed) {
  PauseLengths lengths;
  lengths.add(5'000'000, 3'000'000);
  EXPECT_EQ(lengths.countedLongNs(), 3'000'000);
}

TEST(PauseLengths, WithoutPausesNothingIsLong) {
  EXPECT_EQ(PauseLengths().countedLongNs(), 0);
  EXPECT_GT(PauseLengths().longNs(), 0);
}

TEST(PauseLengths, AnyLengthIsTaken) {
  PauseLengths lengths;
  lengths.add(INT64_MAX, INT64_MAX);
  lengths.add(0, 0);
  EXPECT_GE(lengths.countedLongNs(), INT64_MAX / 2) << "as long as any time can be";
}

}  // namespace
}  // namespace lacuna::analyzer
