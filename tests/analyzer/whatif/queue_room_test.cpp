// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/queue_room.h"

#include <gtest/gtest.h>

namespace lacuna::analyzer {
namespace {

/// Launches 1 ns apart of work that takes 10, on one queue; the host is held back when `room`
/// pieces wait.
std::vector<QueueRoom::Launch> launchesOf(std::size_t count, std::size_t room) {
  std::vector<QueueRoom::Launch> out;
  prof::TimeNs host = 0, device = 0;
  for (std::size_t i = 0; i < count; ++i) {
    host += 1;
    if (i >= room) host = std::max(host, out[i - room].endNs);
    device = std::max(device, host) + 10;
    out.push_back({.queue = 0, .returnedNs = host, .endNs = device});
  }
  return out;
}

TEST(QueueRoom, AQueueIsFullWhenItHoldsNearlyAsMuchAsItEverDid) {
  const QueueRoom room({{}}, launchesOf(400, 100));
  EXPECT_FALSE(room.wasFull(10));
  EXPECT_FALSE(room.wasFull(60));
  EXPECT_TRUE(room.wasFull(150));
  EXPECT_TRUE(room.wasFull(399));
}

TEST(QueueRoom, AQueueThatNeverHeldMuchWasNeverFull) {
  const QueueRoom room({{}}, launchesOf(400, 40));
  for (std::size_t i = 0; i < 400; ++i) EXPECT_FALSE(room.wasFull(i)) << i;
}

TEST(QueueRoom, WorkThatWasLaunchedEarlierFillsItToo) {
  std::vector<prof::TimeNs> earlier;
  for (prof::TimeNs end = 1'000; end < 1'100; ++end) earlier.push_back(end);
  const std::vector<QueueRoom::Launch> launches{{.queue = 0, .returnedNs = 990, .endNs = 1'200}};
  EXPECT_TRUE(QueueRoom({earlier}, launches).wasFull(0));
  EXPECT_FALSE(QueueRoom({{}}, launches).wasFull(0));
}

TEST(QueueRoom, OfACallIsLeftWhatIsBehindTheLastEndOfWork) {
  const QueueRoom room({{}}, launchesOf(3, 100));  // ends at 11, 21 and 31
  EXPECT_EQ(room.behindWait(2, 15, 25), 4);
  EXPECT_EQ(room.behindWait(2, 22, 25), 3) << "the work ended before the call";
  EXPECT_EQ(room.behindWait(2, 2, 9), 7) << "nothing had ended";
}

}  // namespace
}  // namespace lacuna::analyzer
