// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId, prof::QueueId, prof::ThreadId;

class TrackQueriesTest : public testing::Test {
 protected:
  TrackQueriesTest() {
    trace_.append(prof::Thread{.id = ThreadId(1)});
    trace_.append(prof::Queue{.id = QueueId(1), .device = DeviceId(1), .nativeId = 1});
    trace_.append(prof::Queue{.id = QueueId(2), .device = DeviceId(1), .nativeId = 2});
  }
  void kernel(std::uint32_t queue, prof::TimeNs start, prof::TimeNs end, std::string_view name,
              std::uint64_t correlation = 0) {
    trace_.append(prof::Kernel{.startNs = start,
                               .durNs = end - start,
                               .queue = QueueId(queue),
                               .device = DeviceId(1),
                               .correlation = correlation,
                               .name = trace_.intern(name)});
  }
  void call(prof::TimeNs start, prof::TimeNs end, std::uint64_t correlation) {
    trace_.append(prof::ApiCall{.startNs = start,
                                .durNs = end - start,
                                .thread = ThreadId(1),
                                .name = trace_.intern("launch"),
                                .correlation = correlation});
  }
  void build() {
    store_ = trace_.build();
    tracks_ = *buildTracks(*store_);
  }
  prof::TimeNs startOf(const TrackEvent& e) {
    return tracks_->groups[e.group].tracks[e.track].lanes[e.lane].startNs(e.event);
  }
  StoreBuilder trace_;
  std::shared_ptr<const Store> store_;
  std::shared_ptr<const TrackSet> tracks_;
};

TEST_F(TrackQueriesTest, AStretchIsBusyWhereAnyQueueWorks) {
  kernel(1, 0, 40, "a");
  kernel(1, 60, 90, "b");
  kernel(2, 30, 70, "c");
  build();
  const AreaStats stats = areaStats(*tracks_, {10, 110});
  ASSERT_EQ(stats.busy.size(), 3u);
  EXPECT_TRUE(stats.busy[0].device);
  EXPECT_EQ(stats.busy[0].busyNs, 80);  // 10 … 90
  EXPECT_EQ(stats.busy[0].idleNs, 20);
  EXPECT_EQ(stats.busy[1].busyNs, 60);  // 30 + 30
  EXPECT_EQ(stats.busy[2].busyNs, 40);
  EXPECT_EQ(stats.overlapNs, 20);
}

TEST_F(TrackQueriesTest, NamesCountWithThePartInsideTheWindow) {
  kernel(1, 0, 40, "a");
  kernel(1, 60, 90, "a");
  kernel(2, 0, 5, "a");
  build();
  const AreaStats stats = areaStats(*tracks_, {10, 70});
  ASSERT_EQ(stats.names.size(), 1u);
  EXPECT_EQ(stats.names[0].count, 2u);
  EXPECT_EQ(stats.names[0].totalNs, 40);
  EXPECT_EQ(stats.names[0].longestNs, 40);
}

TEST_F(TrackQueriesTest, SearchGoesThroughEveryMatchInTimeOrder) {
  kernel(1, 0, 10, "Gemm_1");
  kernel(2, 5, 20, "gemm_2");
  kernel(1, 30, 40, "relu");
  kernel(2, 50, 60, "bigGEMM");
  build();
  const auto names = matchNames(*store_, "gemm");
  EXPECT_EQ(countMatches(*tracks_, names), 3u);
  std::string seen;
  prof::TimeNs at = -1;
  while (const auto hit = nextMatch(*tracks_, names, at, true)) {
    const Lane& lane = tracks_->groups[hit->group].tracks[hit->track].lanes[hit->lane];
    at = lane.startNs(hit->event);
    seen += std::to_string(at) + " ";
  }
  EXPECT_EQ(seen, "0 5 50 ");
  seen.clear();
  while (const auto hit = nextMatch(*tracks_, names, at, false)) {
    at = tracks_->groups[hit->group].tracks[hit->track].lanes[hit->lane].startNs(hit->event);
    seen += std::to_string(at) + " ";
  }
  EXPECT_EQ(seen, "5 0 ");
}

TEST_F(TrackQueriesTest, SearchFindsCopiesAndMemsetsWithoutAName) {
  trace_.append(prof::Memcpy{.startNs = 10,
                             .durNs = 5,
                             .queue = QueueId(1),
                             .device = DeviceId(1),
                             .copyKind = prof::CopyKind::HostToDevice});
  trace_.append(
      prof::Memset{.startNs = 30, .durNs = 5, .queue = QueueId(2), .device = DeviceId(1)});
  kernel(1, 20, 25, "copy_kernel");
  build();
  EXPECT_EQ(countMatches(*tracks_, matchNames(*store_, "Copy host")), 1u);
  EXPECT_EQ(countMatches(*tracks_, matchNames(*store_, "memset")), 1u);
  const NameMatches copies = matchNames(*store_, "copy");
  EXPECT_EQ(countMatches(*tracks_, copies), 2u);
  const auto first = nextMatch(*tracks_, copies, -1, true);
  ASSERT_TRUE(first);
  EXPECT_EQ(startOf(*first), 10);
}

TEST_F(TrackQueriesTest, SearchComesToAllThatBeginTogether) {
  kernel(1, 10, 20, "gemm");
  kernel(2, 10, 30, "gemm");
  kernel(1, 20, 20, "gemm");  // of no length, at the same moment as the next
  kernel(1, 20, 40, "gemm");
  kernel(2, 50, 60, "gemm");
  build();
  const NameMatches names = matchNames(*store_, "gemm");
  std::vector<TrackEvent> walked;
  for (auto hit = nextMatch(*tracks_, names, -1, true); hit && walked.size() < 9;
       hit = nextMatch(*tracks_, names, *hit, true)) {
    walked.push_back(*hit);
  }
  ASSERT_EQ(walked.size(), countMatches(*tracks_, names));
  ASSERT_EQ(walked.size(), 5u);
  for (std::size_t i = 1; i < walked.size(); ++i)
    EXPECT_LE(startOf(walked[i - 1]), startOf(walked[i]));
  std::vector<TrackEvent> back{walked.back()};
  while (const auto hit = nextMatch(*tracks_, names, back.back(), false)) back.push_back(*hit);
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(back, walked);
  EXPECT_EQ(nextMatch(*tracks_, names, 60, false), walked.back());
}

TEST_F(TrackQueriesTest, ASearchThatIsCalledOffStopsOnItsWay) {
  constexpr prof::TimeNs kKernels = 200'000;
  for (prof::TimeNs n = 0; n < kKernels; ++n) {
    kernel(1, 2 * n, 2 * n + 1, n == 0 ? "first" : n == kKernels - 1 ? "last" : "gemm");
  }
  build();
  std::vector<double> shares;
  const std::uint64_t some = countMatches(*tracks_, matchNames(*store_, "gemm"), [&](double share) {
    shares.push_back(share);
    return shares.size() < 2;
  });
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_LT(shares[0], shares[1]);
  EXPECT_LT(shares[1], 1);
  EXPECT_GT(some, 0u);
  EXPECT_LT(some, static_cast<std::uint64_t>(kKernels) - 2);

  int asked = 0;
  const auto stop = [&asked] { return ++asked < 2; };
  EXPECT_FALSE(nextMatch(*tracks_, matchNames(*store_, "last"), -1, true, stop));
  EXPECT_EQ(asked, 2);
  asked = 0;
  EXPECT_FALSE(nextMatch(*tracks_, matchNames(*store_, "first"), 2 * kKernels, false, stop));
  EXPECT_EQ(asked, 2);
  const auto goOn = [] { return true; };
  EXPECT_TRUE(nextMatch(*tracks_, matchNames(*store_, "last"), -1, true, goOn));
  EXPECT_TRUE(nextMatch(*tracks_, matchNames(*store_, "first"), 2 * kKernels, false, goOn));
}

TEST_F(TrackQueriesTest, ACallLeadsToItsWorkAndBack) {
  call(0, 5, 7);
  call(6, 8, 8);
  kernel(1, 10, 20, "a", 7);
  kernel(1, 20, 30, "b", 8);
  build();
  const EventRef launch{EventRef::Table::ApiCall, 1};
  const EventRef work{EventRef::Table::Kernel, 1};
  EXPECT_EQ(linkedEvents(*store_, launch), std::vector<EventRef>{work});
  EXPECT_EQ(linkedEvents(*store_, work), std::vector<EventRef>{launch});
  const auto place = locate(*store_, *tracks_, work);
  ASSERT_TRUE(place);
  EXPECT_EQ(tracks_->groups[place->group].tracks[place->track].kind, TrackKind::Work);
  EXPECT_EQ(place->event, 1u);
}

TEST_F(TrackQueriesTest, AnEmptySearchMatchesNothing) {
  kernel(1, 0, 10, "a");
  build();
  EXPECT_EQ(countMatches(*tracks_, matchNames(*store_, "")), 0u);
}

}  // namespace
}  // namespace lacuna::analyzer
