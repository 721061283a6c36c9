// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/window.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/clock.h"

namespace lacuna::collector::cupti {
namespace {

class WindowTest : public testing::Test {
 protected:
  /// A moment of its own.
  static prof::TimeNs moment() {
    const prof::TimeNs before = nowNs();
    while (nowNs() == before) {
    }
    return nowNs();
  }

  Control control_;
  Window window_{&control_};
};

TEST(AlwaysOn, WithoutAControlPage) {
  Window window(nullptr);
  window.follow();
  EXPECT_TRUE(window.on(0));
}

TEST_F(WindowTest, EachMomentIsJudgedByTheSwitchesAroundIt) {
  std::vector<prof::TimeNs> moments;
  for (const bool on : {false, true, true, false}) {
    moments.push_back(moment());
    control_.switchTo(on);
  }
  moments.push_back(moment());
  window_.follow();
  std::vector<bool> was;
  for (const prof::TimeNs at : moments) was.push_back(window_.on(at));
  EXPECT_EQ(was, (std::vector<bool>{true, false, true, true, false}));
}

TEST_F(WindowTest, ARecordingThatWaitsIsOffFromTheBeginning) {
  control_.switchTo(false);
  Window window(&control_);
  const prof::TimeNs before = moment();
  control_.switchTo(true);
  window.follow();
  EXPECT_FALSE(window.on(before));
  EXPECT_TRUE(window.on(moment()));
}

TEST_F(WindowTest, OfMoreSwitchesThanThereIsRoomForTheMiddleIsOn) {
  control_.switchTo(false);
  window_.follow();
  const prof::TimeNs off = nowNs();
  prof::TimeNs lost = 0;
  for (std::size_t i = 0; i < Control::kSwitchNotes + 10; ++i) {
    if (i == 5) lost = moment();
    control_.switchTo(i % 2 == 0);
  }
  EXPECT_FALSE(window_.on(off));
  window_.follow();
  EXPECT_TRUE(window_.on(lost));
  EXPECT_FALSE(window_.on(nowNs()));
}

TEST_F(WindowTest, ASwitchWhoseNoteIsMissingCountsFromWhenItIsSeen) {
  const prof::TimeNs before = moment();
  control_.enabled.store(0);
  window_.follow();
  EXPECT_TRUE(window_.on(before));
  EXPECT_FALSE(window_.on(nowNs()));
}

TEST_F(WindowTest, ALongRunForgetsOnlyItsOldestSwitches) {
  prof::TimeNs last = 0;
  for (int i = 0; i < 100'000; ++i) {
    control_.switchTo(i % 2 != 0);
    if (i % 100 == 0) window_.follow();
    if (i == 99'998) last = moment();
  }
  window_.follow();
  EXPECT_FALSE(window_.on(last));
  EXPECT_TRUE(window_.on(nowNs()));
}

}  // namespace
}  // namespace lacuna::collector::cupti
