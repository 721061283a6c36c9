// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "analyses/time/queue_length.h"
#include "analyses/work/launch_index.h"
#include "analyzer/analyses/named_store.h"
#include "support/timeline_maker.h"

namespace lacuna::analyzer {
namespace {

using test::kHundred;
using test::TimelineMaker;

std::vector<QueueLength> lengthsOf(const Timeline& timeline, prof::TimeWindow window = kHundred) {
  std::vector<QueueLength> lengths;
  addQueueLengths(timeline, LaunchIndex(timeline), window, kHundred, lengths);
  return lengths;
}

TEST(QueueLength, GrowsWithLaunchesAndShrinksWithStarts) {
  TimelineMaker m;
  // Launched at 0, 10 and 20; started at 5, 30 and 50: one waits for 5, one for 10, two for 10, one
  // for 20.
  m.launch(1, 0, 1, 1).launch(1, 10, 11, 2).launch(1, 20, 21, 3);
  m.runs(1, 5, 30, 1).runs(1, 30, 50, 2).runs(1, 50, 60, 3);
  const auto lengths = lengthsOf(m.made);
  ASSERT_EQ(lengths.size(), 1U);
  const QueueLength& row = lengths[0];
  EXPECT_EQ(row.work, 3U);
  EXPECT_EQ(row.waitedNs, 5 + 10 + 2 * 10 + 20);
  EXPECT_DOUBLE_EQ(row.mean(), 0.55);
  EXPECT_EQ(row.most, 2U);
  EXPECT_EQ(row.mostAtNs, 20);
  EXPECT_EQ(row.waitingNs, 5 + 10 + 10 + 20);
  EXPECT_EQ(row.fullNs, 0);
  ASSERT_EQ(row.curve.size(), 100U);
  EXPECT_EQ(row.curve[3].most, 1U);
  EXPECT_EQ(row.curve[7].most, 0U);
  EXPECT_EQ(row.curve[25].most, 2U);
  EXPECT_EQ(row.curve[49].most, 1U);
  EXPECT_EQ(row.curve[60].most, 0U);
}

TEST(QueueLength, IsOfEachQueueAndShowsWhenOneIsFull) {
  TimelineMaker m;
  constexpr std::uint64_t kLaunches = kFullQueue + 1;
  for (std::uint64_t i = 1; i <= kLaunches; ++i)
    m.launch(1, 1, 2, i).runs(1, 50 + (i == kLaunches ? 20 : 0), 70, i);
  m.launch(2, 40, 41, kLaunches + 1).runs(2, 45, 50, kLaunches + 1);
  const auto lengths = lengthsOf(m.made);
  ASSERT_EQ(lengths.size(), 2U);
  EXPECT_EQ(lengths[0].most, kLaunches);
  EXPECT_EQ(lengths[0].fullNs, 49) << "from the launches at 1 to the starts at 50";
  EXPECT_EQ(lengths[0].waitingNs, 69);
  EXPECT_EQ(lengths[1].waitedNs, 5);
}

TEST(QueueLength, OfPiecesAddsUp) {
  TimelineMaker m;
  m.launch(1, 0, 1, 1).launch(1, 50, 51, 2).runs(1, 20, 30, 1).runs(1, 70, 80, 2);
  std::vector<QueueLength> pieces;
  for (const prof::TimeWindow window : {prof::TimeWindow{0, 50}, prof::TimeWindow{50, 100}})
    addQueueLengths(m.made, LaunchIndex(m.made), window, kHundred, pieces);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].waitedNs, lengthsOf(m.made)[0].waitedNs);
  EXPECT_EQ(pieces[0].work, 2U);
}

}  // namespace
}  // namespace lacuna::analyzer
