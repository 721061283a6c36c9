// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/timed_switch.h"

#include <gtest/gtest.h>

namespace lacuna::collector {
namespace {

/// A recording that is off for a time and then on for a time.
class TimedSwitchTest : public testing::Test {
 protected:
  TimedSwitchTest() {
    options_.delayNs = 100;
    options_.durationNs = 50;
    control_.enabled = 0;
  }
  RunOptions options_;
  Control control_;
};

TEST_F(TimedSwitchTest, OnAfterTheDelayAndOffAfterTheDuration) {
  TimedSwitch times(options_);
  times.check(control_, 99);
  EXPECT_EQ(control_.enabled, 0u);
  times.check(control_, 100);
  EXPECT_EQ(control_.enabled, 1u);
  times.check(control_, 149);
  EXPECT_EQ(control_.enabled, 1u);
  times.check(control_, 150);
  EXPECT_EQ(control_.enabled, 0u);
  times.check(control_, 1000);
  EXPECT_EQ(control_.enabled, 0u) << "once each";
}

TEST_F(TimedSwitchTest, AnOrderFromBeforeStays) {
  TimedSwitch times(options_);
  control_.order(false);
  times.check(control_, 120);
  EXPECT_EQ(control_.enabled, 0u);
  control_.order(true);
  times.check(control_, 200);
  EXPECT_EQ(control_.enabled, 1u);
}

TEST_F(TimedSwitchTest, AnOrderThatComesWithTheTimeStays) {
  TimedSwitch times(options_);
  times.check(control_, 120, [&] { control_.order(false); });
  EXPECT_EQ(control_.enabled, 0u);
  control_.switches = 0;
  control_.enabled = 1;
  times.check(control_, 200, [&] { control_.order(true); });
  EXPECT_EQ(control_.enabled, 1u);
}

}  // namespace
}  // namespace lacuna::collector
