// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "analyses/disturbance/core_contention.h"
#include "analyses/disturbance/recording_bands.h"
#include "analyses/work/kernels.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/store.h"
#include "support/seeds.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// A process with two threads that is there from 0 to 1000 ns, beside a recorder.
class TakenCoresTest : public testing::Test {
 protected:
  TakenCoresTest() {
    builder_.append(Process{.id = ProcessId(1), .osPid = 1});
    for (const std::uint32_t id : {1U, 2U})
      builder_.append(Thread{.id = ThreadId(id), .process = ProcessId(1)});
    builder_.append(Range{
        .startNs = 0, .durNs = 1000, .thread = ThreadId(1), .name = builder_.intern("program")});
  }
  void recorder(std::vector<std::pair<TimeNs, double>> percents) {
    track({}, "recorder CPU", percents);
  }
  void waits(std::uint32_t thread, std::vector<std::pair<TimeNs, double>> percents) {
    track(ThreadId(thread), "waiting for a core", percents);
  }
  void track(ThreadId thread, std::string_view name,
             const std::vector<std::pair<TimeNs, double>>& percents) {
    builder_.append(
        CounterTrack{.id = TrackId(++tracks_), .thread = thread, .name = builder_.intern(name)});
    for (const auto& [at, percent] : percents)
      builder_.append(CounterSample{.timeNs = at, .track = TrackId(tracks_), .value = percent});
  }
  SelfOverhead overhead(std::int64_t steps = 1) {
    return *selfOverhead(*builder_.build(), {0, 1000}, steps);
  }

  StoreBuilder builder_;
  std::uint32_t tracks_ = 0;
};

TEST_F(TakenCoresTest, AreWhatTheRecorderRanAndAtMostWhatAThreadWaited) {
  recorder({{0, 40}});
  waits(1, {{0, 30}});
  const SelfOverhead taken = overhead(2);
  EXPECT_TRUE(taken.known);
  EXPECT_EQ(taken.coresNsPerStep(), 150);
  EXPECT_EQ(taken.nsPerStep, 150);
  ASSERT_EQ(taken.parts.size(), 1U);
  EXPECT_EQ(taken.parts[0].kind, "use of cores");
}

TEST_F(TakenCoresTest, AreNoneWhereNobodyWaited) {
  recorder({{0, 40}});
  waits(1, {{0, 0}});
  const SelfOverhead taken = overhead();
  EXPECT_TRUE(taken.known);
  EXPECT_EQ(taken.nsPerStep, 0);
  EXPECT_TRUE(taken.parts.empty());
}

TEST_F(TakenCoresTest, AreNotKnownOfTracesWithoutThem) {
  waits(1, {{0, 30}});
  EXPECT_FALSE(overhead().known);
  EXPECT_TRUE(takenCores(*builder_.build(), {})->empty());
}

/// As read from Chrome's form.
TEST_F(TakenCoresTest, AreTheSameWhereTheRecorderHasAProcess) {
  builder_.append(Process{.id = ProcessId(2)});
  builder_.append(Thread{.id = ThreadId(3), .process = ProcessId(2)});
  track(ThreadId(3), "recorder CPU", {{0, 40}});
  waits(1, {{0, 30}});
  EXPECT_EQ(overhead().coresNsPerStep(), 300);
}

/// One thread may wait while the next one has to wait for it.
TEST_F(TakenCoresTest, AddUpWhatThreadsWaited) {
  recorder({{0, 40}});
  waits(1, {{0, 15}});
  waits(2, {{0, 20}, {500, 30}});
  EXPECT_EQ(overhead().nsPerStep, 175 + 200)
      << "at first all that they waited, then what the recorder ran";
}

TEST_F(TakenCoresTest, AreNeverMoreThanTheTime) {
  recorder({{0, 250}});
  waits(1, {{0, 90}});
  waits(2, {{0, 90}});
  EXPECT_EQ(overhead().nsPerStep, 1000);
}

TEST_F(TakenCoresTest, FollowBothFromMomentToMoment) {
  recorder({{0, 40}, {500, 0}, {800, 10}});
  waits(1, {{0, 30}, {250, 50}});
  EXPECT_EQ(overhead().nsPerStep, 75 + 100 + 0 + 20);
}

TEST_F(TakenCoresTest, AThreadThatHasEndedWaitsNoMore) {
  builder_.append(Thread{.id = ThreadId(3), .process = ProcessId(1), .startNs = 0, .endNs = 600});
  recorder({{0, 40}});
  waits(3, {{0, 30}});
  EXPECT_EQ(overhead().nsPerStep, 180);
}

TEST_F(TakenCoresTest, OfARankAreThoseThatItsThreadsWaitedFor) {
  builder_.append(Thread{.id = ThreadId(3), .process = ProcessId(2)});
  recorder({{0, 40}});
  waits(1, {{0, 10}});
  waits(3, {{0, 20}});
  Selection first;
  first.everything = false;
  first.processes = {ProcessId(1)};
  first.processOfThread = {{ThreadId(1), ProcessId(1)}, {ThreadId(3), ProcessId(2)}};
  const auto store = builder_.build();
  EXPECT_DOUBLE_EQ(takenCores(*store, first)->between(0, 1000), 100);
  EXPECT_DOUBLE_EQ(takenCores(*store, {})->between(0, 1000), 300);
}

TEST_F(TakenCoresTest, ValuesThatCannotBeTakeNothing) {
  recorder({{0, std::numeric_limits<double>::infinity()},
            {300, -20},
            {600, std::numeric_limits<double>::quiet_NaN()}});
  waits(1, {{0, 30}});
  EXPECT_EQ(overhead().nsPerStep, 0);
}

/// Beside a device that works.
class TakenBandsTest : public TakenCoresTest {
 protected:
  void device(std::uint32_t id, DeviceKind kind) {
    builder_.append(Device{.id = DeviceId(id), .kind = kind});
    builder_.append(Queue{.id = QueueId(id), .device = DeviceId(id), .process = ProcessId(1)});
  }
  void kernel(std::uint32_t device, TimeNs start, TimeNs dur) {
    builder_.append(Kernel{.startNs = start,
                           .durNs = dur,
                           .queue = QueueId(device),
                           .device = DeviceId(device),
                           .name = builder_.intern("matmul")});
  }
  Analysis analysed() { return *analyse(builder_.build()); }
};

TEST_F(TakenBandsTest, WidenEveryStretchOfACpuDeviceByItsShare) {
  device(1, DeviceKind::Cpu);
  recorder({{0, 40}});
  waits(1, {{0, 30}, {600, 0}});
  kernel(1, 100, 400);
  kernel(1, 700, 200);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ledgers.bands.run[Cause::Compute], 120)
      << "of the first; nobody waited during the second";
  EXPECT_EQ(analysis.ledgers.bands.run.idleNs(), 30) << "of the 200 ns between them half";
  EXPECT_EQ(analysis.of<SelfOverhead>().nsPerStep, 150);
  ASSERT_EQ(analysis.of<KernelTable>().size(), 1U);
  EXPECT_EQ(analysis.of<KernelTable>()[0].recordingNs, 120);
}

TEST_F(TakenBandsTest, DelayTheHostOfAGpuAlone) {
  device(1, DeviceKind::Cuda);
  recorder({{0, 40}});
  waits(1, {{0, 30}});
  kernel(1, 100, 400);
  kernel(1, 700, 200);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ledgers.bands.run[Cause::Compute], 0);
  EXPECT_EQ(analysis.ledgers.bands.run.idleNs(), 120 + 60)
      << "what was taken while it computed shows behind it";
  EXPECT_EQ(analysis.of<KernelTable>()[0].recordingNs, 0);
}

TEST_F(TakenBandsTest, OperatorsHoldWhatWasTakenMeanwhile) {
  device(1, DeviceKind::Cpu);
  const auto op = [&](TimeNs start, TimeNs dur, const char* name) {
    builder_.append(Range{.startNs = start,
                          .durNs = dur,
                          .thread = ThreadId(1),
                          .category = builder_.intern("op"),
                          .name = builder_.intern(name)});
  };
  op(100, 500, "linear");
  op(200, 200, "addmm");
  kernel(1, 700, 200);
  recorder({{0, 50}});
  waits(1, {{0, 20}});
  const Analysis analysis = analysed();
  for (const OperatorRow& row : analysis.of<OperatorTables>().byName) {
    EXPECT_EQ(row.recordingNs, row.name == "linear" ? 100 : 40) << row.name;
    EXPECT_EQ(row.selfRecordingNs, row.name == "linear" ? 60 : 40) << row.name;
  }
  EXPECT_EQ(analysis.of<OperatorTables>().byName.size(), 2U);
}

class RandomUse : public testing::TestWithParam<unsigned> {};

/// However the counters, the events and the work lie.
TEST_P(RandomUse, NoBandIsMoreThanItsEntryNorAllOfThemMoreThanTheFirstFigure) {
  std::mt19937 random(GetParam());
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  StoreBuilder builder;
  builder.append(
      Environment{.key = builder.intern("self.cost.range"), .value = builder.intern("10")});
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  for (std::uint32_t id = 1; id <= 3; ++id) {
    builder.append(Thread{
        .id = ThreadId(id), .process = ProcessId(1), .endNs = pick(0, 1) * pick(2000, 9000)});
    builder.append(CounterTrack{
        .id = TrackId(id), .thread = ThreadId(id), .name = builder.intern("waiting for a core")});
  }
  builder.append(CounterTrack{.id = TrackId(4), .name = builder.intern("recorder CPU")});
  for (TimeNs at = pick(0, 2000); at < 12'000; at += pick(1, 1500)) {
    builder.append(CounterSample{.timeNs = at,
                                 .track = TrackId(static_cast<std::uint32_t>(pick(1, 4))),
                                 .value = double(pick(0, 120))});
  }
  const auto kind = pick(0, 1) == 0 ? DeviceKind::Cpu : DeviceKind::Cuda;
  builder.append(Device{.id = DeviceId(1), .kind = kind});
  builder.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  for (TimeNs at = 1000; at < 10'000; at += pick(300, 700)) {
    builder.append(Range{
        .startNs = at, .durNs = pick(0, 200), .thread = ThreadId(1), .name = builder.intern("x")});
    builder.append(
        Kernel{.startNs = at, .durNs = pick(1, 250), .queue = QueueId(1), .device = DeviceId(1)});
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  for (std::size_t i = 0; i < kCauseCount; ++i)
    EXPECT_LE(analysis->ledgers.bands.run.ns[i], analysis->ledgers.run.ns[i]) << i;
  // Each of some 60 segments is rounded by itself.
  EXPECT_LE(analysis->ledgers.bands.run.totalNs(),
            analysis->of<SelfOverhead>().nsPerStep * analysis->stepCount() + 60);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomUse, testing::Range(1U, 1 + test::seeds(60)));

TEST_F(TakenCoresTest, WhatTheRecorderTookWasTakenByNoOtherProgram) {
  waits(1, {{0, 50}});
  track(ThreadId(1), "thread CPU", {{0, 50}});
  waits(2, {{0, 20}});
  track(ThreadId(2), "thread CPU", {{0, 60}});
  recorder({{200, 40}, {600, 90}});
  EXPECT_NEAR(static_cast<double>(coreContention(*builder_.build(), {0, 1000}, {}, 2)->lostNs),
              140 + 120, 2)
      << "0.7 cores at first, then 0.3, and nothing while the recorder ran on more";
}

TEST_F(TakenCoresTest, AreNoOtherProgramsAlsoWhereStatesAreRecorded) {
  const auto state = [&](std::uint32_t thread, TimeNs start, TimeNs dur, ThreadState what) {
    builder_.append(
        ThreadSpan{.startNs = start, .durNs = dur, .thread = ThreadId(thread), .state = what});
  };
  state(1, 0, 1000, ThreadState::Running);
  state(2, 0, 400, ThreadState::Runnable);
  state(2, 400, 600, ThreadState::Running);
  recorder({{0, 100}, {100, 25}});
  EXPECT_EQ(coreContention(*builder_.build(), {0, 1000}, {}, 2)->lostNs, 300 * 3 / 4);
}

}  // namespace
}  // namespace lacuna::analyzer
