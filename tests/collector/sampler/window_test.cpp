// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"

namespace lacuna::collector::sampler {
namespace {

class WindowTest : public testing::Test {
 protected:
  /// The edges that an update finds: whether each opens.
  std::vector<bool> update() {
    edges_.clear();
    window_.update(nowNs(), edges_);
    std::vector<bool> opens;
    for (const PerfRecord& edge : edges_) opens.push_back(edge.open);
    return opens;
  }

  Control control_;
  Window window_{control_};
  std::vector<PerfRecord> edges_;
};

using Opens = std::vector<bool>;

TEST_F(WindowTest, ReportsEachSwitchAtItsTime) {
  EXPECT_EQ(update(), Opens());
  const prof::TimeNs beforeNs = nowNs();
  control_.switchTo(false);
  const prof::TimeNs betweenNs = nowNs();
  control_.switchTo(true);
  const prof::TimeNs afterNs = nowNs();
  ASSERT_EQ(update(), (Opens{false, true}));
  EXPECT_GE(edges_[0].timeNs, beforeNs);
  EXPECT_LE(edges_[0].timeNs, betweenNs);
  EXPECT_GE(edges_[1].timeNs, betweenNs);
  EXPECT_LE(edges_[1].timeNs, afterNs);
  EXPECT_EQ(update(), Opens()) << "once";
}

TEST_F(WindowTest, CountsItsOpenings) {
  update();
  EXPECT_EQ(window_.openings(), 0u) << "open from the beginning";
  for (const bool on : {false, true, false, true}) control_.switchTo(on);
  update();
  EXPECT_EQ(window_.openings(), 2u);
}

TEST_F(WindowTest, BelievesTheSwitchWhereItsNoteIsNeverFinished) {
  control_.enabled = 0;
  control_.switchCount = 1;  // its writer was killed here
  EXPECT_EQ(update(), Opens{false});
  EXPECT_FALSE(window_.isOpen());
  control_.switchTo(true);
  EXPECT_EQ(update(), Opens{true});
}

TEST_F(WindowTest, KeepsTheOrderWhateverTheNotesHold) {
  for (const bool on : {false, true, false}) control_.switchTo(on);
  control_.switchNotes[0].timeNs = INT64_MAX;
  control_.switchNotes[1].timeNs = INT64_MIN;
  ASSERT_EQ(update(), (Opens{false, true, false}));
  EXPECT_LE(edges_[0].timeNs, nowNs());
  EXPECT_GE(edges_[1].timeNs, edges_[0].timeNs);
  EXPECT_GE(edges_[2].timeNs, edges_[1].timeNs);
}

TEST_F(WindowTest, EndsUpRightWhereThereWereMoreSwitchesThanNotes) {
  for (std::size_t i = 0; i < 3 * Control::kSwitchNotes; ++i) control_.switchTo(i % 2 != 0);
  control_.switchTo(false);
  EXPECT_LE(update().size(), Control::kSwitchNotes);
  EXPECT_FALSE(window_.isOpen());
}

}  // namespace
}  // namespace lacuna::collector::sampler
