// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/step_watch.h"

#include <gtest/gtest.h>

namespace lacuna::collector {
namespace {

/// Steps of 90, 100, 110 in turn: the median is 100, the median deviation 10.
void feed(StepWatch& watch, int process, int steps) {
  constexpr std::int64_t kDurations[] = {90, 100, 110};
  for (int i = 0; i < steps; ++i) EXPECT_FALSE(watch.add(process, kDurations[i % 3]));
}

TEST(StepWatch, CountsDeviationsAboveTheMedian) {
  StepWatch watch(5);
  feed(watch, 1, 60);
  EXPECT_FALSE(watch.add(1, 150));
  const auto slow = watch.add(1, 151);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->medianNs, 100);
  EXPECT_EQ(slow->deviationNs, 10);
  EXPECT_EQ(slow->durationNs, 151);
}

TEST(StepWatch, AFifthAboveTheMedianIsTheLeast) {
  StepWatch watch(5);
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(watch.add(1, 1000));
  EXPECT_FALSE(watch.add(1, 1200)) << "regular steps have no deviation to speak of";
  EXPECT_TRUE(watch.add(1, 1201));
}

TEST(StepWatch, ProcessesAreJudgedByThemselves) {
  StepWatch watch(5);
  feed(watch, 1, 60);
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(watch.add(2, 5000));
  EXPECT_TRUE(watch.add(1, 5000));
}

TEST(StepWatch, TheFirstStepsAreNeverSlow) {
  StepWatch watch(5);
  for (int i = 1; i <= 16; ++i) EXPECT_FALSE(watch.add(1, i == 16 ? 1000000 : 100)) << i;
  EXPECT_TRUE(watch.add(1, 1000000));
}

TEST(StepWatch, ForgetsStepsLongPast) {
  StepWatch watch(5);
  for (int i = 0; i < 128; ++i) EXPECT_FALSE(watch.add(1, 100));
  for (int i = 0; i < 128; ++i) watch.add(1, 1000);
  EXPECT_FALSE(watch.add(1, 1000)) << "that is usual by now";
}

}  // namespace
}  // namespace lacuna::collector
