// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/lanes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId, prof::ProcessId, prof::QueueId, prof::ThreadId;

class LanesTest : public testing::Test {
 protected:
  LanesTest() {
    trace_.append(
        prof::Process{.id = ProcessId(1), .osPid = 42, .name = trace_.intern("train"), .rank = -1});
    trace_.append(prof::Thread{
        .id = ThreadId(1), .process = ProcessId(1), .osTid = 42, .name = trace_.intern("main")});
    trace_.append(prof::Device{.id = DeviceId(1), .kind = prof::DeviceKind::Cuda, .index = 3});
    trace_.append(prof::Queue{
        .id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 7});
  }
  void range(prof::TimeNs start, prof::TimeNs end, std::string_view name) {
    trace_.append(prof::Range{.startNs = start,
                              .durNs = end - start,
                              .thread = ThreadId(1),
                              .name = trace_.intern(name)});
  }
  void kernel(prof::TimeNs start, prof::TimeNs end, std::string_view name) {
    trace_.append(prof::Kernel{.startNs = start,
                               .durNs = end - start,
                               .queue = QueueId(1),
                               .device = DeviceId(1),
                               .name = trace_.intern(name)});
  }
  void build() {
    store_ = trace_.build();
    auto built = buildTracks(*store_);
    ASSERT_TRUE(built) << built.error().message;
    tracks_ = *built;
  }
  /// A track as text: lanes from the top, "name@start" each.
  std::string show(const Track& track) {
    std::string out;
    for (const Lane& lane : track.lanes) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        out += std::string(TrackSet::name(*store_, lane.name(i))) + "@" +
               std::to_string(lane.startNs(i)) + " ";
      }
      out += "| ";
    }
    return out;
  }

  StoreBuilder trace_;
  std::shared_ptr<const Store> store_;
  std::shared_ptr<const TrackSet> tracks_;
};

TEST_F(LanesTest, RangesThatNestTooDeepAreCountedInTheLabel) {
  constexpr prof::TimeNs kRanges = 5'000;
  for (prof::TimeNs i = 0; i < kRanges; ++i) range(i, 10 * kRanges, "never ended");
  range(20 * kRanges, 21 * kRanges, "later");
  build();
  const Track& track = tracks_->groups[0].tracks[0];
  EXPECT_EQ(track.lanes.size(), kMostLanes);
  EXPECT_EQ(track.lanes[0].size(), 2U);
  EXPECT_EQ(track.events, 5'001U);
  EXPECT_EQ(track.deeper, 5'000U - kMostLanes);
  EXPECT_EQ(track.label, "main · 3976 deeper ranges are not drawn");
}

TEST_F(LanesTest, TracksMayHaveAnyNumber) {
  for (const std::uint32_t id : {0U, 0x7FFFFFFFU, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
    trace_.append(prof::Range{
        .startNs = 1, .durNs = 2, .thread = ThreadId(id), .name = trace_.intern("far")});
    trace_.append(
        prof::Kernel{.startNs = 1, .durNs = 2, .queue = QueueId(id), .device = DeviceId(1)});
    trace_.append(prof::CounterSample{.timeNs = 1, .track = prof::TrackId(id), .value = 1});
  }
  build();
  EXPECT_EQ(tracks_->events, 12U);
}

TEST_F(LanesTest, NestedRangesGoBelowTheirParents) {
  range(0, 100, "step");
  range(0, 40, "forward");
  range(10, 20, "conv");
  range(50, 100, "backward");
  range(100, 150, "step");
  build();
  ASSERT_EQ(tracks_->groups.size(), 1u);
  EXPECT_EQ(tracks_->groups[0].label, "train 42");
  EXPECT_EQ(show(tracks_->groups[0].tracks[0]),
            "step@0 step@100 | forward@0 backward@50 | conv@10 | ");
}

TEST_F(LanesTest, OverlappingWorkOnAQueueNeverSharesALane) {
  kernel(0, 10, "a");
  kernel(5, 20, "b");
  kernel(12, 14, "c");
  kernel(20, 30, "d");
  build();
  EXPECT_EQ(show(tracks_->groups[0].tracks[0]), "a@0 d@20 | b@5 | c@12 | ");
  EXPECT_EQ(tracks_->groups[0].label, "cuda:3");
  EXPECT_EQ(tracks_->groups[0].tracks[0].label, "queue 7");
}

TEST_F(LanesTest, CopiesAndMemsetsLieAmongTheKernels) {
  kernel(0, 10, "a");
  kernel(30, 40, "b");
  trace_.append(prof::Memcpy{.startNs = 12,
                             .durNs = 5,
                             .queue = QueueId(1),
                             .device = DeviceId(1),
                             .copyKind = prof::CopyKind::HostToDevice});
  trace_.append(
      prof::Memset{.startNs = 50, .durNs = 5, .queue = QueueId(1), .device = DeviceId(1)});
  build();
  EXPECT_EQ(show(tracks_->groups[0].tracks[0]), "a@0 copy host to device@12 b@30 memset@50 | ");
}

TEST_F(LanesTest, AnEventOfAPictureLeadsBackToItsRow) {
  range(0, 100, "step");
  range(0, 40, "forward");
  kernel(5, 25, "gemm");
  trace_.append(
      prof::Memcpy{.startNs = 30, .durNs = 5, .queue = QueueId(1), .device = DeviceId(1)});
  build();
  const auto find = [&](const Track& track, std::size_t lane) {
    const Lane& l = track.lanes[lane];
    return findEvent(*store_, track, l.startNs(0), l.durNs(0), l.name(0));
  };
  const Track& thread = tracks_->groups[0].tracks[0];
  const Track& queue = tracks_->groups[1].tracks[0];
  EXPECT_EQ(find(thread, 0), (EventRef{EventRef::Table::Range, 0}));
  EXPECT_EQ(find(thread, 1), (EventRef{EventRef::Table::Range, 1}));
  EXPECT_EQ(find(queue, 0), (EventRef{EventRef::Table::Kernel, 0}));
  const Lane& lane = queue.lanes[0];
  EXPECT_EQ(findEvent(*store_, queue, lane.startNs(1), lane.durNs(1), lane.name(1)),
            (EventRef{EventRef::Table::Memcpy, 0}));
}

TEST_F(LanesTest, MemoryOfNoDeviceIsTheHosts) {
  trace_.append(prof::Allocation{
      .timeNs = 1, .action = prof::MemoryAction::Allocate, .address = 100, .bytes = 64});
  build();
  const auto host = std::ranges::find(tracks_->groups, "Host", &TrackGroup::label);
  ASSERT_NE(host, tracks_->groups.end());
  EXPECT_EQ(host->device, DeviceId());
  ASSERT_EQ(host->tracks.size(), 1u);
  EXPECT_EQ(host->tracks[0].label, "memory");
}

TEST_F(LanesTest, TheMemoryCurveFollowsEveryAllocationOfADevice) {
  const auto block = [&](prof::TimeNs time, prof::MemoryAction action, std::uint64_t address,
                         std::uint64_t bytes, prof::MemoryRole role) {
    trace_.append(prof::Allocation{.timeNs = time,
                                   .device = DeviceId(1),
                                   .action = action,
                                   .role = role,
                                   .address = address,
                                   .bytes = bytes});
  };
  block(1, prof::MemoryAction::Allocate, 100, 64, prof::MemoryRole::Parameter);
  block(2, prof::MemoryAction::Allocate, 200, 1000, prof::MemoryRole::Activation);
  block(3, prof::MemoryAction::Free, 200, 0, prof::MemoryRole::Other);
  build();
  const auto& tracks = tracks_->groups[0].tracks;
  ASSERT_EQ(tracks.size(), 3u);
  EXPECT_EQ(tracks[0].label, "memory");
  EXPECT_EQ(tracks[0].counter.highest(), 1064);
  EXPECT_EQ(tracks[0].counter.value(2), 64);
  EXPECT_EQ(tracks[2].label, "memory · activations");
}

TEST_F(LanesTest, TheCurveOfMemoryOfNoKnownRoleIsNamedSo) {
  const auto allocate = [&](prof::TimeNs time, prof::MemoryRole role) {
    trace_.append(prof::Allocation{.timeNs = time,
                                   .device = DeviceId(1),
                                   .action = prof::MemoryAction::Allocate,
                                   .role = role,
                                   .address = static_cast<std::uint64_t>(time),
                                   .bytes = 64});
  };
  allocate(1, prof::MemoryRole::Other);
  allocate(2, prof::MemoryRole::Parameter);
  build();
  const auto& tracks = tracks_->groups[0].tracks;
  ASSERT_EQ(tracks.size(), 3u);
  EXPECT_EQ(tracks[1].label, "memory · not known");
}

TEST_F(LanesTest, CountersAreNamedForPeopleAndThoseOfAThreadStandInItsProcess) {
  const auto counter = [&](std::uint32_t id, std::string_view name, ThreadId thread,
                           ProcessId process) {
    trace_.append(prof::CounterTrack{.id = prof::TrackId(id),
                                     .process = process,
                                     .thread = thread,
                                     .name = trace_.intern(name)});
    trace_.append(prof::CounterSample{.timeNs = 5, .track = prof::TrackId(id), .value = 2e6});
  };
  counter(1, "thread CPU", ThreadId(1), ProcessId());
  counter(2, "lacuna.rt.loader.cpu_time", ThreadId(), ProcessId(1));
  build();
  ASSERT_EQ(tracks_->groups.size(), 1u);
  const auto& tracks = tracks_->groups[0].tracks;
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0].label, "thread CPU · main");
  EXPECT_EQ(tracks[1].label, "loader CPU time");
  EXPECT_EQ(tracks[1].unit, "ns");
}

TEST_F(LanesTest, WhatTheRecorderRanStandsApartFromTheProgram) {
  range(0, 10, "step");
  trace_.append(prof::CounterTrack{.id = prof::TrackId(1), .name = trace_.intern("recorder CPU")});
  trace_.append(prof::CounterSample{.timeNs = 5, .track = prof::TrackId(1), .value = 3});
  build();
  ASSERT_EQ(tracks_->groups.size(), 2u);
  EXPECT_EQ(tracks_->groups[1].label, "Recorder and idle cores");
  ASSERT_EQ(tracks_->groups[1].tracks.size(), 1u);
  EXPECT_EQ(tracks_->groups[1].tracks[0].label, "recorder CPU");
}

TEST_F(LanesTest, TracksComeByTheirNumbersAndTheFirstThreadFirst) {
  const auto thread = [&](std::uint32_t id, std::string_view name, int ranges) {
    trace_.append(prof::Thread{.id = ThreadId(id),
                               .process = ProcessId(1),
                               .osTid = 100 + id,
                               .name = trace_.intern(name)});
    for (int i = 0; i < ranges; ++i)
      trace_.append(prof::Range{
          .startNs = i * 10, .durNs = 5, .thread = ThreadId(id), .name = trace_.intern("x")});
  };
  range(0, 10, "step");  // on the thread that began the process
  trace_.append(prof::ApiCall{.durNs = 1, .thread = ThreadId(1), .name = trace_.intern("launch")});
  thread(2, "autograd", 3);
  thread(3, "worker 10", 5);
  thread(4, "worker 9", 1);
  for (const auto& [id, number] : {std::pair{2U, 22U}, std::pair{3U, 21U}}) {
    trace_.append(prof::Queue{
        .id = QueueId(id), .device = DeviceId(1), .process = ProcessId(1), .nativeId = number});
    trace_.append(prof::Kernel{
        .durNs = 5, .queue = QueueId(id), .device = DeviceId(1), .name = trace_.intern("k")});
  }
  kernel(0, 5, "k");
  build();
  std::vector<std::string> labels;
  for (const TrackGroup& group : tracks_->groups) {
    for (const Track& track : group.tracks) labels.push_back(track.label);
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"main", "main · calls", "worker 9", "worker 10",
                                              "autograd", "queue 7", "queue 21", "queue 22"}));
}

TEST_F(LanesTest, WhatIsNoProcessComesLastAndHasNoNumber) {
  trace_.append(prof::Process{.id = ProcessId(2), .name = trace_.intern("Spans"), .rank = -1});
  trace_.append(
      prof::Thread{.id = ThreadId(2), .process = ProcessId(2), .name = trace_.intern("Profiler")});
  trace_.append(prof::Range{
      .startNs = -5, .durNs = 500, .thread = ThreadId(2), .name = trace_.intern("recording")});
  range(0, 10, "step");
  kernel(0, 5, "k");
  build();
  std::vector<std::string> labels;
  for (const TrackGroup& group : tracks_->groups) labels.push_back(group.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"train 42", "cuda:3", "Spans"}));
}

TEST_F(LanesTest, BuildingCanBeCancelled) {
  range(0, 100, "step");
  store_ = trace_.build();
  EXPECT_FALSE(buildTracks(*store_, [](double) { return false; }));
}

}  // namespace
}  // namespace lacuna::analyzer
