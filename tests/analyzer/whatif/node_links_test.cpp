// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/node_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lacuna::analyzer {
namespace {

constexpr std::int64_t kCallNs = 4'000, kDelayNs = 5'000, kGapNs = 1'000;

class NodeLinksTest : public testing::Test {
 protected:
  /// Work of one queue that a launch call returned at, which starts as a device would start it.
  /// Answers its index.
  std::size_t launch(prof::TimeNs at, std::int64_t durNs, std::size_t queue = 0) {
    const prof::TimeNs start = std::max(at + kDelayNs, free_[queue] + kGapNs);
    return record(
        {.calledNs = at - kCallNs, .returnedNs = at, .startNs = start, .endNs = start + durNs},
        queue);
  }
  std::size_t record(const RecordedWork& work, std::size_t queue = 0) {
    free_[queue] = work.endNs;
    work_.push_back(work);
    DeviceNode& node = nodes_.emplace_back();
    node.queue = queue;
    node.durNs = work.endNs - work.startNs;
    return nodes_.size() - 1;
  }
  const DeviceNode& linked(std::size_t at) {
    linkNodes(nodes_, work_, std::vector{prof::DeviceId(1), prof::DeviceId(1)});
    return nodes_[at];
  }

  std::vector<RecordedWork> work_;
  std::vector<DeviceNode> nodes_;
  prof::TimeNs free_[2] = {0, 0};
};

TEST_F(NodeLinksTest, WorkOnAFreeQueueWaitsForItsLaunch) {
  const std::size_t work = launch(1'000'000, 50'000);
  EXPECT_EQ(linked(work).launchDelayNs, kDelayNs);
}

TEST_F(NodeLinksTest, WorkBehindOtherWorkWaitsForTheQueue) {
  launch(1'000'000, 50'000);
  const std::size_t queued = launch(1'010'000, 50'000);
  EXPECT_EQ(linked(queued).queueGapNs, kGapNs);
  EXPECT_EQ(linked(queued).launchDelayNs, kDelayNs) << "as usual";
}

/// Else the time to reach the device would count as a gap that every queued kernel has.
TEST_F(NodeLinksTest, WorkThatHadNotReachedTheDeviceWhenTheQueueWasFreeWaitsForItsLaunch) {
  launch(1'000'000, 50'000);
  std::size_t late = 0;
  for (int i = 0; i < 10; ++i) late = launch(free_[0] - 500, 50'000);
  const std::size_t queued = launch(free_[0] - 40'000, 50'000);
  EXPECT_EQ(linked(late).launchDelayNs, kDelayNs);
  EXPECT_EQ(linked(late).queueGapNs, kGapNs) << "the one that queued work has";
  EXPECT_EQ(linked(queued).queueGapNs, kGapNs);
}

/// The copy begins with its call. A kernel takes longer to reach the device.
TEST_F(NodeLinksTest, ACallThatWaitsForItsWorkDoesNotShowHowLongALaunchTakes) {
  launch(1'000'000, 50'000);
  const prof::TimeNs copyAt = free_[0] + 100'000;
  record({.calledNs = copyAt,
          .returnedNs = copyAt + 30'000,
          .startNs = copyAt,
          .endNs = copyAt + 30'000,
          .blocks = true});
  launch(2'000'000, 50'000);
  const std::size_t late = launch(free_[0] - 500, 50'000);
  EXPECT_EQ(linked(late).launchDelayNs, kDelayNs);
}

TEST_F(NodeLinksTest, WhereNoWorkWasQueuedTheGapIsThatOfUsualDevices) {
  std::size_t last = 0;
  for (int i = 0; i < 10; ++i) last = launch(free_[0] + 20'000, 3'000);
  EXPECT_EQ(linked(last).queueGapNs, 1'000);
}

TEST_F(NodeLinksTest, TheGapIsNoLongerThanTheDistanceToTheWorkBefore) {
  launch(1'000'000, 50'000);
  const std::size_t close = record({.calledNs = free_[0] - 100,
                                    .returnedNs = free_[0],
                                    .startNs = free_[0] + 300,
                                    .endNs = free_[0] + 900});
  EXPECT_EQ(linked(close).queueGapNs, 300);
}

TEST_F(NodeLinksTest, WorkThatStartsWhenAnotherQueueIsDoneWaitedForThat) {
  const std::size_t other = launch(1'000'000, 400'000, 1);
  const prof::TimeNs done = free_[1];
  const std::size_t woken = record({.calledNs = 1'006'000,
                                    .returnedNs = 1'010'000,
                                    .startNs = done + 2'000,
                                    .endNs = done + 50'000});
  EXPECT_EQ(linked(woken).after, other);
  EXPECT_EQ(linked(woken).afterGapNs, 2'000);
}

TEST_F(NodeLinksTest, WorkThatTheCallerExecutesHasNoGapBehindOtherWork) {
  launch(1'000'000, 50'000);
  const std::size_t own = record({.calledNs = 1'020'000,
                                  .returnedNs = 1'070'000,
                                  .startNs = 1'060'000,
                                  .endNs = 1'070'000,
                                  .blocks = true,
                                  .inPlace = true});
  EXPECT_EQ(linked(own).queueGapNs, 0);
}

}  // namespace
}  // namespace lacuna::analyzer
