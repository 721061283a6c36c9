// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyses/recording_bands.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/core_contention.h"
#include "lacuna/analyzer/memory_use.h"
#include "lacuna/analyzer/ranks.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/run_diff.h"
#include "lacuna/analyzer/self_overhead.h"
#include "lacuna/analyzer/store_builder.h"
#include "lacuna/prof/nvtx_mapper.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

constexpr std::uint64_t kMiB = 1 << 20;

/// Rows of the allocation table, one a nanosecond.
class Allocations {
 public:
  void add(MemoryAction action, std::uint64_t address, std::uint64_t bytes, MemoryRole role = MemoryRole::Other) {
    builder_.append(Allocation{
        .timeNs = ++now_, .device = DeviceId(1), .action = action, .role = role, .address = address, .bytes = bytes});
  }
  /// The same at a moment of its own, made by "matmul".
  void addAt(TimeNs at, MemoryAction action, std::uint64_t address, std::uint64_t bytes,
             MemoryRole role = MemoryRole::Other) {
    now_ = at - 1;
    builder_.append(Allocation{.timeNs = ++now_,
                               .device = DeviceId(1),
                               .action = action,
                               .role = role,
                               .address = address,
                               .bytes = bytes,
                               .op = builder_.intern("matmul")});
  }
  std::shared_ptr<const Store> built() { return builder_.build(); }
  std::vector<DeviceMemory> analysed() { return std::move(*deviceMemory(*builder_.build(), {})); }

 private:
  StoreBuilder builder_;
  TimeNs now_ = 0;
};

Steps evenSteps(int count) {
  Steps steps;
  for (int i = 0; i < count; ++i)
    steps.all.push_back({.index = static_cast<std::uint64_t>(i),
                         .name = "step",
                         .startNs = 100 * (i + 1),
                         .endNs = 100 * (i + 2),
                         .samples = 0,
                         .warmUp = false});
  return steps;
}

TEST(AllocatorState, NamesFragmentationWhereFreePiecesAreTooSmall) {
  Allocations rows;
  rows.add(MemoryAction::Reserve, 1000, 1000);
  rows.add(MemoryAction::Allocate, 1000, 300);
  rows.add(MemoryAction::Allocate, 1300, 400);
  rows.add(MemoryAction::Allocate, 1700, 300);
  rows.add(MemoryAction::Free, 1000, 300);
  rows.add(MemoryAction::Free, 1700, 300);
  rows.add(MemoryAction::Reserve, 5000, 500);
  const auto devices = rows.analysed();
  ASSERT_EQ(devices.size(), 1u);
  const AllocatorState& state = devices[0].allocator;
  EXPECT_EQ(state.atNs, 7);
  EXPECT_EQ(state.reservedBytes, 1000u);
  EXPECT_EQ(state.liveBytes, 400u);
  EXPECT_EQ(state.freeBytes(), 600u);
  EXPECT_EQ(state.largestFreeBytes, 300u);
  EXPECT_EQ(state.freePieces, 2u);
  EXPECT_DOUBLE_EQ(state.fragmentation(), 0.5);
  EXPECT_TRUE(state.fragmented());
  EXPECT_EQ(devices[0].reservedPeakBytes, 1500u);
}

TEST(AllocatorState, IsNotFragmentedWhereThereWasNoRoom) {
  Allocations rows;
  rows.add(MemoryAction::Reserve, 1000, 1000);
  rows.add(MemoryAction::Allocate, 1000, 900);
  rows.add(MemoryAction::Reserve, 5000, 500);
  EXPECT_FALSE(rows.analysed()[0].allocator.fragmented());
}

TEST(DeviceMemory, TellsRolesApart) {
  Allocations rows;
  rows.add(MemoryAction::Allocate, 1, 100, MemoryRole::Parameter);
  rows.add(MemoryAction::Allocate, 2, 40, MemoryRole::Activation);
  rows.add(MemoryAction::Free, 2, 0);
  const auto devices = rows.analysed();
  EXPECT_EQ(devices[0].peakBytes, 140u);
  EXPECT_EQ(devices[0].peakAtNs, 2);
  ASSERT_EQ(devices[0].curve.size(), 3u);
  EXPECT_EQ(devices[0].curve[1].bytes[static_cast<std::size_t>(MemoryRole::Activation)], 40u);
  EXPECT_EQ(devices[0].curve[2].totalBytes(), 100u);
}

TEST(PeakEdits, RankWhatIsFreeBeforeWhatCostsTime) {
  MemoryStats memory;
  memory.peakAtNs = 150;
  memory.live = {
      {8 * kMiB, MemoryRole::Activation, "", "relu", 120},     {6 * kMiB, MemoryRole::Activation, "", "matmul", 110},
      {5 * kMiB, MemoryRole::Activation, "", "unseen", 110},   {4 * kMiB, MemoryRole::Gradient, "net.weight", "", 50},
      {9 * kMiB, MemoryRole::Parameter, "net.weight", "", 10}, {3 * kMiB, MemoryRole::Gradient, "net.bias", "", 140}};
  Steps steps;
  steps.all.resize(2);
  steps.all[0].endNs = steps.all[1].startNs = 100;
  steps.all[1].endNs = 200;
  const std::vector<OperatorRow> operators{{.name = "relu", .shapes = {}, .count = 10, .deviceNs = 1000},
                                           {.name = "matmul", .shapes = {}, .count = 1, .deviceNs = 900}};
  const auto edits = peakEdits(memory, steps, operators);
  ASSERT_EQ(edits.size(), 4u);
  EXPECT_EQ(edits[0].origin, "net.weight");
  EXPECT_EQ(edits[0].kind, PeakEditKind::FreeEarlier);
  EXPECT_EQ(edits[0].bytes, 4 * kMiB);
  EXPECT_EQ(edits[1].origin, "relu");
  EXPECT_EQ(edits[1].costNsPerStep, 100);
  EXPECT_EQ(edits[2].origin, "matmul");
  EXPECT_EQ(edits[2].costNsPerStep, 900);
  EXPECT_EQ(edits[3].costNsPerStep, -1);
}

TEST(PeakEdits, AreForeseenByPlayingThemOnTheAllocations) {
  // Two steps of 100 ns. The first step's gradient lives into the second, whose activation makes the peak; the first
  // step's peak, 14 MiB, is what remains where the second's is lowered.
  Allocations rows;
  rows.addAt(10, MemoryAction::Allocate, 1, 8 * kMiB, MemoryRole::Activation);
  rows.addAt(20, MemoryAction::Allocate, 2, 6 * kMiB, MemoryRole::Gradient);
  rows.addAt(30, MemoryAction::Free, 1, 0);
  rows.addAt(150, MemoryAction::Allocate, 3, 9 * kMiB, MemoryRole::Activation);
  rows.addAt(160, MemoryAction::Free, 2, 0);
  MemoryStats memory;
  memory.peakAtNs = 150;
  memory.live = {{9 * kMiB, MemoryRole::Activation, "", "matmul", 150},
                 {6 * kMiB, MemoryRole::Gradient, "", "matmul", 20}};
  Steps steps;
  steps.all.resize(2);
  steps.all[0].endNs = steps.all[1].startNs = 100;
  steps.all[1].endNs = 200;
  auto edits = peakEdits(memory, steps, {});
  ASSERT_EQ(edits.size(), 2u);
  ASSERT_TRUE(foreseePeaks(*rows.built(), {0, 300}, steps, edits).ok());
  EXPECT_EQ(edits[0].kind, PeakEditKind::FreeEarlier);
  EXPECT_EQ(edits[0].peakAfterBytes, 14 * kMiB);
  EXPECT_EQ(edits[1].kind, PeakEditKind::Recompute);
  EXPECT_EQ(edits[1].peakAfterBytes, 6 * kMiB);
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_TRUE(edits[1 - n].concerns(memory.live[n]));
    EXPECT_FALSE(edits[n].concerns(memory.live[n]));
  }
}

TEST(Memory, WhatIsAliveWhenTheWindowBeginsCountsForIt) {
  Allocations rows;
  rows.addAt(10, MemoryAction::Reserve, 1, 4000);
  rows.addAt(20, MemoryAction::Allocate, 1, 900, MemoryRole::Parameter);
  rows.addAt(30, MemoryAction::Allocate, 2, 800);
  rows.addAt(250, MemoryAction::Free, 2, 0);
  rows.addAt(260, MemoryAction::Allocate, 3, 100);
  rows.addAt(500, MemoryAction::Free, 1, 0);
  const auto store = rows.built();
  const auto began = memoryStats(*store, {200, 300}, evenSteps(4));
  ASSERT_TRUE(began);
  EXPECT_EQ(began->peakBytes, 1700u);
  EXPECT_EQ(began->peakAtNs, 200);
  EXPECT_EQ(began->peakReservedBytes, 4000u);
  ASSERT_EQ(began->live.size(), 2u);
  EXPECT_EQ(began->lives[0].freedNs, 500);
  EXPECT_EQ(began->lives[1].freedNs, 250);
  ASSERT_FALSE(began->curve.empty());
  EXPECT_EQ(began->curve.front().bytes, 1700u);
  // A window in which nothing is allocated or freed.
  const auto quiet = memoryStats(*store, {300, 400}, evenSteps(4));
  ASSERT_TRUE(quiet);
  EXPECT_EQ(quiet->peakBytes, 1000u);
  EXPECT_EQ(quiet->live.size(), 2u);
  for (const auto& [window, bytes] : {std::pair(TimeWindow{200, 300}, 1700u), std::pair(TimeWindow{300, 400}, 1000u)}) {
    const auto devices = deviceMemory(*store, window);
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 1u);
    EXPECT_EQ(devices->front().peakBytes, bytes);
    EXPECT_EQ(devices->front().peakAtNs, window.startNs);
    EXPECT_EQ(devices->front().curve.front().totalBytes(), bytes);
  }
}

TEST(Memory, TellsHowLongWhatIsAliveAtThePeakHasBeenThereAndStays) {
  // Steps begin at 100, 200, 300, 400; the peak is at 250.
  Allocations rows;
  rows.addAt(50, MemoryAction::Allocate, 1, 900, MemoryRole::Parameter);  // never freed
  rows.addAt(110, MemoryAction::Allocate, 2, 800);                        // made a step earlier, freed two steps later
  rows.addAt(220, MemoryAction::Allocate, 3, 700);                        // of this step, freed in it
  rows.addAt(230, MemoryAction::Allocate, 4, 600);                        // its address is handed out again
  rows.addAt(240, MemoryAction::Allocate, 5, 300);
  rows.addAt(245, MemoryAction::Free, 5, 0);
  rows.addAt(250, MemoryAction::Allocate, 6, 400);
  rows.addAt(260, MemoryAction::Free, 3, 0);
  rows.addAt(270, MemoryAction::Free, 6, 0);
  rows.addAt(310, MemoryAction::Allocate, 4, 100);
  rows.addAt(311, MemoryAction::Free, 4, 0);
  rows.addAt(450, MemoryAction::Free, 2, 0);
  // What is asked for ends before the last free, which counts all the same.
  const auto stats = memoryStats(*rows.built(), {0, 320}, evenSteps(4));
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->peakAtNs, 250);
  ASSERT_EQ(stats->live.size(), 5u);
  ASSERT_EQ(stats->lives.size(), 5u);
  const auto life = [&](std::size_t at) {
    const TensorLife& one = stats->lives[at];
    return std::to_string(stats->live[at].bytes) + ": " + std::to_string(one.stepsOld) + " steps, " +
           (one.freed ? "to " + std::to_string(one.freedNs) : "on") + ", " + std::to_string(one.stepsAhead) + " steps";
  };
  EXPECT_EQ(life(0), "900: 2 steps, on, 2 steps");
  EXPECT_EQ(life(1), "800: 1 steps, to 450, 2 steps");
  EXPECT_EQ(life(2), "700: 0 steps, to 260, 0 steps");
  EXPECT_EQ(life(3), "600: 0 steps, to 310, 1 steps");
  EXPECT_EQ(life(4), "400: 0 steps, to 270, 0 steps");
  for (const TensorLife& one : stats->lives) EXPECT_EQ(one.device, DeviceId(1));
}

TEST(Ranks, SplitCollectivesIntoWaitingAndTransfer) {
  const RankStats stats = rankStats({{0, 100, 0, "reduce"},
                                     {10, 100, 1, "reduce"},
                                     {40, 100, 2, "reduce"},
                                     {200, 210, 0, "gather"},
                                     {200, 210, -1, ""}});
  ASSERT_EQ(stats.rows.size(), 3u);
  EXPECT_EQ(stats.matched, 1u);
  EXPECT_EQ(stats.unmatched, 1u);
  const std::int64_t waits[] = {40, 30, 0};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(stats.rows[rank].waitNs, waits[rank]);
    EXPECT_EQ(stats.rows[rank].transferNs, 60);
  }
  EXPECT_EQ(stats.rows[2].last, 1u);
  EXPECT_EQ(stats.rows[2].heldUpNs, 30);
  EXPECT_NEAR(stats.waitShare(), 70.0 / 250, 1e-9);
}

TEST(Ranks, OfTwoTheLaterOneIsBehindTheOther) {
  const RankStats stats = rankStats({{0, 100, 0, "reduce"}, {40, 100, 1, "reduce"}});
  ASSERT_EQ(stats.rows.size(), 2u);
  EXPECT_EQ(stats.rows[0].heldUpNs, 0);
  EXPECT_EQ(stats.rows[1].heldUpNs, 40);
  ASSERT_EQ(stats.latest.size(), 1u);
  EXPECT_EQ(stats.latest[0].fromNs, 0);
  EXPECT_EQ(stats.latest[0].toNs, 40);
}

TEST(Ranks, WithoutTheLastOneTheOthersWaitForTheNextToLast) {
  const RankStats stats =
      rankStats({{0, 100, 0, "reduce"}, {5, 100, 1, "reduce"}, {30, 100, 2, "reduce"}, {40, 100, 3, "reduce"}});
  ASSERT_EQ(stats.rows.size(), 4u);
  EXPECT_EQ(stats.rows[3].stepHeldUpNs, 35);
  EXPECT_EQ(stats.rows[3].stepAloneNs, 10);
  EXPECT_EQ(stats.rows[2].stepAloneNs, 0);
}

TEST(Ranks, WhatIsWaitedForInSeveralAtOnceIsLostOnce) {
  // Two all-reduces of buckets, side by side: the rank that is late holds the other one up from 0 to 45.
  const RankStats stats =
      rankStats({{0, 100, 0, "first"}, {40, 100, 1, "first"}, {5, 100, 0, "second"}, {45, 100, 1, "second"}});
  ASSERT_EQ(stats.rows.size(), 2U);
  EXPECT_EQ(stats.rows[0].waitNs, 80);
  EXPECT_EQ(stats.rows[0].stepWaitNs, 45);
  EXPECT_EQ(stats.rows[1].heldUpNs, 45);
  EXPECT_EQ(stats.rows[1].stepHeldUpNs, 45);
  EXPECT_EQ(stats.rows[1].stepAloneNs, 45);
}

TEST(Ranks, ARankThatLeavesEarlyIsHeldUpNoLonger) {
  const RankStats stats = rankStats({{0, 25, 0, "send"}, {40, 100, 1, "send"}});
  ASSERT_EQ(stats.rows.size(), 2u);
  EXPECT_EQ(stats.rows[0].waitNs, 25);
  EXPECT_EQ(stats.rows[1].heldUpNs, 25);
  EXPECT_EQ(stats.rows[1].stepHeldUpNs, 25);
  EXPECT_EQ(stats.rows[1].stepAloneNs, 25);
  ASSERT_EQ(stats.latest.size(), 1u);
  EXPECT_EQ(stats.latest[0].toNs, 25);
}

TEST(Ranks, GroupsOfOneDescriptionAreMatchedEachByItself) {
  StoreBuilder builder;
  std::vector<DeviceAccount> devices;
  const TimeNs starts[] = {0, 10, 200, 240};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const QueueId queue(rank + 1);
    const ArgSetId args(rank + 1);
    const TimeNs end = rank < 2 ? 100 : 300;
    builder.append(Kernel{.startNs = starts[rank],
                          .durNs = end - starts[rank],
                          .queue = queue,
                          .name = builder.intern("ncclDevKernel_AllReduce"),
                          .args = args});
    builder.append(ArgSet{.id = args, .shape = builder.intern("+Process Group Name\n+Process Group Description")});
    const auto text = [&](const char* key, const char* value) {
      builder.append(
          Arg{.set = args, .key = builder.intern(key), .type = ArgType::Text, .value = builder.intern(value).value});
    };
    text("Process Group Name", rank < 2 ? "3" : "4");
    text("Process Group Description", "tensor");
    devices.emplace_back();
    devices.back().rank = static_cast<std::int32_t>(rank);
    devices.back().queues.push_back({.id = queue, .name = {}, .ledger = {}, .bands = {}});
  }
  const auto stats = rankStats(*builder.build(), {0, 1000}, devices, StepSpans());
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->matched, 2U);
  ASSERT_EQ(stats->rows.size(), 4U);
  const std::int64_t waits[] = {10, 0, 40, 0};
  for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(stats->rows[rank].waitNs, waits[rank]) << rank;
}

TEST(Ranks, AreSilentOnOneRank) {
  EXPECT_TRUE(rankStats({{0, 100, 0, "reduce"}}).rows.empty());
}

TEST(SelfOverhead, ACostIsANumberOfNanosecondsOrNothing) {
  const auto costOf = [](const char* text) {
    StoreBuilder builder;
    builder.append(Environment{.key = builder.intern("self.cost.range"), .value = builder.intern(text)});
    return eventCosts(*builder.build()).rangeNs;
  };
  EXPECT_EQ(costOf("7.5"), 7.5);
  for (const char* text : {"", "fast", "7,5", "-3", "inf", "nan", "1e300"}) EXPECT_EQ(costOf(text), 0) << text;
}

TEST(SelfOverhead, MultipliesEventsWithWhatTheyCost) {
  StoreBuilder builder;
  builder.append(Environment{.key = builder.intern("self.cost.range"), .value = builder.intern("50.0")});
  builder.append(Environment{.key = builder.intern("self.cost.mark"), .value = builder.intern("20.0")});
  for (int i = 0; i < 10; ++i) builder.append(Range{.startNs = i, .durNs = 1, .thread = ThreadId(1)});
  for (int i = 0; i < 4; ++i) builder.append(Mark{.timeNs = i});
  for (int i = 0; i < 6; ++i) builder.append(Allocation{.timeNs = i});
  builder.append(Range{.startNs = 5000, .durNs = 1, .thread = ThreadId(1)});  // outside
  builder.append(Overhead{.startNs = 5, .durNs = 1000, .name = builder.intern("flush")});
  const auto overhead = selfOverhead(*builder.build(), {0, 1000}, 2);
  ASSERT_TRUE(overhead);
  EXPECT_TRUE(overhead->known);
  // 10·50/2 + (4 + 6)·20/2 + 1000/2
  EXPECT_EQ(overhead->nsPerStep, 250 + 100 + 500);
}

std::uint64_t repeatedLaunches(const char* kernel, std::string_view call) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  builder.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu});
  builder.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  for (std::uint64_t i = 1; i <= 200; ++i) {
    const auto at = static_cast<TimeNs>(10'000 * i);
    builder.append(Range{.startNs = at,
                         .durNs = 2'000,
                         .thread = ThreadId(1),
                         .category = builder.intern("op"),
                         .name = builder.intern(kernel),
                         .correlation = i});
    builder.append(
        ApiCall{.startNs = at + 1'000, .thread = ThreadId(1), .name = builder.intern(call), .correlation = i});
    builder.append(Kernel{.startNs = at + 3'000,
                          .durNs = 700,
                          .queue = QueueId(1),
                          .device = DeviceId(1),
                          .correlation = i,
                          .name = builder.intern(kernel)});
  }
  return analyse(builder.build())->patterns.repeatedLaunches;
}

TEST(Patterns, UpkeepOfTheRuntimeIsNoLoopOfTheProgram) {
  EXPECT_GE(repeatedLaunches("relu", kEnqueueCall), 100U);
  EXPECT_GE(repeatedLaunches("release_host", kEnqueueCall), 100U) << "a program may call its work so";
  EXPECT_EQ(repeatedLaunches("release_host", kUpkeepCall), 0U);
}

/// 40 steps that each allocate 16 KiB; every `emptied`-th gives all of it back.
std::int64_t leakOf(int emptied) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  std::vector<std::uint64_t> alive;
  const auto memory = [&](TimeNs time, MemoryAction action, std::uint64_t address) {
    builder.append(
        Allocation{.timeNs = time, .thread = ThreadId(1), .action = action, .address = address, .bytes = 16 << 10});
  };
  for (int step = 0; step < 40; ++step) {
    const TimeNs start = 1000 * step;
    builder.append(Range{.startNs = start, .durNs = 990, .thread = ThreadId(1), .name = builder.intern("step")});
    alive.push_back(static_cast<std::uint64_t>(step + 1) << 20);
    memory(start + 500, MemoryAction::Allocate, alive.back());
    if (emptied == 0 || step % emptied != emptied - 1) continue;
    for (const std::uint64_t address : alive) memory(start + 600, MemoryAction::Free, address);
    alive.clear();
  }
  return analyse(builder.build())->memory.leakBytesPerStep;
}

TEST(Memory, AStepHoldsWhatItBeganWith) {
  Allocations rows;
  rows.addAt(10, MemoryAction::Allocate, 1, 50 * kMiB);
  rows.addAt(350, MemoryAction::Allocate, 2, kMiB);
  rows.addAt(360, MemoryAction::Free, 2, kMiB);
  const auto stats = memoryStats(*rows.built(), {0, 700}, evenSteps(6));
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->stepEndBytes.size(), 6U);
  EXPECT_EQ(stats->stepPeakBytes[0], 50U * kMiB);
  EXPECT_EQ(stats->stepPeakBytes[1], 50U * kMiB);
  EXPECT_EQ(stats->stepPeakBytes[2], 51U * kMiB);
  EXPECT_EQ(stats->stepPeakBytes[5], 50U * kMiB);
}

TEST(Memory, StepsBehindTheWindowAreNotMadeUp) {
  Allocations rows;
  for (int i = 0; i < 8; ++i) rows.addAt(100 * (i + 1) + 20, MemoryAction::Allocate, i + 1, kMiB);
  const auto stats = memoryStats(*rows.built(), {200, 600}, evenSteps(8));
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->stepEndBytes.size(), 5U);
  EXPECT_EQ(stats->leakBytesPerStep, static_cast<std::int64_t>(kMiB));
  ASSERT_EQ(stats->leaked.size(), 1U);
  EXPECT_EQ(stats->leaked[0].bytes, kMiB);
}

TEST(Median, OfTwoMiddlesIsTheirMean) {
  EXPECT_EQ(medianOf({10}), 10);
  EXPECT_EQ(medianOf({30, 10}), 20);
  EXPECT_EQ(medianOf({7, 1, 3, 100}), 5);
  EXPECT_EQ(medianOf({9, 1, 5}), 5);
}

TEST(Calls, OfSeveralChunksAreSortedByWhatTheyCost) {
  std::vector<CallRow> calls(3);
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].totalNs = static_cast<std::int64_t>(10 * i);
  sortCalls(calls);
  EXPECT_EQ(calls[0].totalNs, 20);
  EXPECT_EQ(calls[2].totalNs, 0);
}

/// Appends what a thread does for a loader: (thread, start, duration, stage).
auto loaderRanges(StoreBuilder& builder) {
  return [&builder](std::uint32_t thread, TimeNs start, TimeNs dur, const char* name) {
    builder.append(Range{.startNs = start,
                         .durNs = dur,
                         .thread = ThreadId(thread),
                         .category = builder.intern("loader"),
                         .name = builder.intern(name)});
  };
}

TEST(Loader, ABatchThatTheConsumerLoadsHidesNoWorkers) {
  StoreBuilder builder;
  for (std::uint32_t thread = 1; thread <= 5; ++thread) builder.append(Thread{.id = ThreadId(thread)});
  const auto range = loaderRanges(builder);
  for (TimeNs i = 0; i < 20; ++i) {
    range(2 + static_cast<std::uint32_t>(i % 4), 100 * i, 300, "fetch");
    range(1, 100 * i + 320, 10, "wait");
  }
  range(1, 3000, 500, "wait");
  range(1, 3010, 400, "fetch");
  const auto loader = loaderStats(*builder.build(), {0, 5000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->workers, 4U);
  EXPECT_EQ(loader->batches, 21U);
  EXPECT_EQ(loader->batchNs(), 300);
}

/// Two epochs of six batches, prepared by two processes each, which are children of the consumer's.
std::shared_ptr<const Store> twoEpochs(TimeNs secondFrom) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  for (std::uint32_t worker = 2; worker <= 5; ++worker) {
    builder.append(Process{.id = ProcessId(worker), .parent = ProcessId(1), .osPid = worker});
    builder.append(Thread{.id = ThreadId(worker), .process = ProcessId(worker)});
  }
  const auto range = loaderRanges(builder);
  for (const bool second : {false, true}) {
    const TimeNs from = second ? secondFrom : 0;
    if (second && from > 700) range(1, 700, from + 40 - 700, "wait");
    for (TimeNs i = 0; i < 6; ++i) {
      range((second ? 4 : 2) + static_cast<std::uint32_t>(i % 2), from + 100 * i, 150, "fetch");
      if (i > 0) range(1, from + 100 * i + 20, 30, "wait");
    }
  }
  return builder.build();
}

// As lacuna run --torch tells of an epoch's workers: they are ended, and the next ones are started.
TEST(Loader, WhatStartsAndEndsWorkersIsWaitedForAndTakesNoBatch) {
  StoreBuilder builder;
  for (std::uint32_t worker = 1; worker <= 3; ++worker) {
    builder.append(Process{.id = ProcessId(worker), .parent = ProcessId(worker > 1 ? 1 : 0), .osPid = worker});
    builder.append(Thread{.id = ThreadId(worker), .process = ProcessId(worker)});
  }
  const auto range = loaderRanges(builder);
  for (const TimeNs epoch : {0, 10'000}) {
    range(1, epoch, 1000, "start");
    for (TimeNs i = 0; i < 4; ++i) {
      range(epoch == 0 ? 2 : 3, epoch + 1100 + 200 * i, 200, "fetch");
      range(1, epoch + 1100 + 200 * i, 200, "wait");
    }
    range(1, epoch + 1900, 500, "stop");
  }
  const auto loader = loaderStats(*builder.build(), {0, 20'000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->batches, 8U);
  EXPECT_EQ(loader->waitNs, 2 * (1000 + 4 * 200 + 500));
  EXPECT_EQ(loader->restarts, 1U);
  EXPECT_EQ(loader->restartNs, 500 + 1000) << "the first set's end and the second one's beginning";
}

TEST(Loader, WorkersThatTakeTheirPredecessorsPlaceAreNotMore) {
  const auto loader = loaderStats(*twoEpochs(5000), {0, 10'000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->workers, 2U);
  EXPECT_EQ(loader->restarts, 1U);
  // The first set's last batch was ready at 650; the wait for the second began at 700. Its other worker began 100
  // later, and between the first batches of both the program waited from 5220 to 5250.
  EXPECT_EQ(loader->restartNs, 5000 - 700 + 30);
  EXPECT_EQ(loader->longestRestart.startNs, 700);
  EXPECT_EQ(loader->longestRestart.endNs, 5000);
  EXPECT_EQ(loader->busyNs, 12 * 150);
  EXPECT_EQ(loader->spanNs, 5650 - (5000 - 700 + 30));
}

TEST(Loader, AWorkerThatIsStartedBehindTheOthersIsWaitedFor) {
  // Two sets of two workers that take 100 for each batch, two for each worker. In the second set the other worker
  // begins 40 later; then the program waits for its first batch from 5105 to 5140, or, where it comes late itself, not
  // at all.
  for (const bool waits : {true, false}) {
    StoreBuilder builder;
    for (std::uint32_t worker = 1; worker <= 5; ++worker) {
      builder.append(Process{.id = ProcessId(worker), .parent = ProcessId(worker > 1 ? 1 : 0), .osPid = worker});
      builder.append(Thread{.id = ThreadId(worker), .process = ProcessId(worker)});
    }
    const auto range = loaderRanges(builder);
    for (const TimeNs from : {0, 5000}) {
      for (TimeNs i = 0; i < 4; ++i) {
        const TimeNs late = from > 0 && i % 2 == 1 ? 40 : 0;
        range((from > 0 ? 4 : 2) + static_cast<std::uint32_t>(i % 2), from + late + 100 * (i / 2), 100, "fetch");
      }
    }
    range(1, 300, 4700 + 100, "wait");
    if (waits) range(1, 5105, 35, "wait");
    const auto loader = loaderStats(*builder.build(), {0, 10'000});
    ASSERT_TRUE(loader);
    EXPECT_EQ(loader->workers, 2U);
    EXPECT_EQ(loader->restarts, 1U);
    EXPECT_EQ(loader->restartNs, 4700 + (waits ? 35 : 0));
  }
}

TEST(Loader, WorkersThatWorkAtTheSameTimeAreSoMany) {
  // A second loader's, whose first worker begins before the others are done.
  const auto loader = loaderStats(*twoEpochs(500), {0, 10'000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->workers, 4U);
  EXPECT_EQ(loader->restarts, 0U);
  EXPECT_EQ(loader->restartNs, 0);
}

TEST(Loader, AWaitInsideOfAWaitIsPartOfIt) {
  StoreBuilder builder;
  builder.append(Thread{.id = ThreadId(1)});
  for (TimeNs i = 0; i < 10; ++i) {
    const auto range = [&](TimeNs start, TimeNs dur, const char* name) {
      builder.append(
          Range{.startNs = 100 * i + start, .durNs = dur, .thread = ThreadId(1), .name = builder.intern(name)});
    };
    range(0, 50, "data_wait");
    range(5, 40, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  }
  const auto loader = loaderStats(*builder.build(), {0, 1000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->waitNs, 500);
  EXPECT_EQ(loader->stepWaitNs, 500);
  EXPECT_EQ(loader->batches, 10U);
}

/// Threads of one program with counters that say how long each ran and waited for a core, in percent.
CoreContention contended(const std::vector<std::pair<double, double>>& threads, std::uint32_t cores) {
  StoreBuilder builder;
  std::uint32_t track = 0;
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    builder.append(Thread{.id = ThreadId(i + 1)});
    for (const auto& [name, percent] :
         {std::pair("thread CPU", threads[i].first), std::pair("waiting for a core", threads[i].second)}) {
      builder.append(CounterTrack{.id = TrackId(++track), .thread = ThreadId(i + 1), .name = builder.intern(name)});
      builder.append(CounterSample{.timeNs = 0, .track = TrackId(track), .value = percent});
    }
  }
  return *coreContention(*builder.build(), {0, 1000}, {}, cores);
}

TEST(CoreContention, IsWhatTheProgramsOwnThreadsCannotExplain) {
  const CoreContention others = contended({{50, 50}, {60, 20}}, 2);
  EXPECT_EQ(others.lostNs, 700);
  EXPECT_EQ(others.ranNs, 1100);
  ASSERT_EQ(others.threads.size(), 2U);
  EXPECT_EQ(others.threads[0].lostNs, 500);
  // Four threads on two cores may have waited for each other.
  EXPECT_EQ(contended({{50, 50}, {50, 50}, {50, 50}, {50, 50}}, 2).lostNs, 0);
  EXPECT_FALSE(contended({{50, 50}}, 0).known);
}

TEST(CoreContention, ComesFromTheStatesOfThreadsWhereTheyAreTold) {
  StoreBuilder builder;
  const auto state = [&](std::uint32_t thread, TimeNs start, TimeNs dur, ThreadState what) {
    builder.append(ThreadSpan{.startNs = start, .durNs = dur, .thread = ThreadId(thread), .state = what});
  };
  state(1, 0, 1000, ThreadState::Running);
  state(2, 0, 400, ThreadState::Runnable);   // a core is free of this program, but another has it
  state(3, 200, 300, ThreadState::Running);  // from here on both cores are the program's
  state(2, 400, 600, ThreadState::Running);
  const auto found = coreContention(*builder.build(), {0, 1000}, {}, 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lostNs, 200);
  EXPECT_EQ(found->ranNs, 1900);
  ASSERT_EQ(found->threads.size(), 1U);
  ASSERT_EQ(found->threads[0].longest.size(), 1U);
  EXPECT_EQ(found->threads[0].longest[0].startNs, 0);
  EXPECT_EQ(found->threads[0].longest[0].endNs, 200);
}

TEST(Memory, AQueueThatFillsAndEmptiesIsNoLeak) {
  EXPECT_EQ(leakOf(0), 16 << 10);
  EXPECT_EQ(leakOf(10), 0);
}

/// A CPU device in a process whose recorder says that a range costs 10 ns and a mark 4.
class BandsTest : public testing::Test {
 protected:
  BandsTest() {
    builder_.append(Environment{.key = builder_.intern("self.cost.range"), .value = builder_.intern("10")});
    builder_.append(Environment{.key = builder_.intern("self.cost.mark"), .value = builder_.intern("4")});
    builder_.append(Process{.id = ProcessId(1), .osPid = 1});
    builder_.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
    builder_.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu});
    builder_.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  }
  void range(TimeNs start, TimeNs dur, const char* category, const char* name, std::uint64_t correlation = 0) {
    builder_.append(Range{.startNs = start,
                          .durNs = dur,
                          .thread = ThreadId(1),
                          .category = builder_.intern(category),
                          .name = builder_.intern(name),
                          .correlation = correlation});
  }
  void kernel(TimeNs start, TimeNs dur, std::uint64_t correlation) {
    builder_.append(Kernel{.startNs = start,
                           .durNs = dur,
                           .queue = QueueId(1),
                           .device = DeviceId(1),
                           .correlation = correlation,
                           .name = builder_.intern("matmul")});
  }
  Analysis analysed() { return *analyse(builder_.build()); }
  StoreBuilder builder_;
};

TEST_F(BandsTest, DelaysWhileTheDeviceWorksShowInTheNextIdleStretch) {
  kernel(1000, 1000, 7);
  for (int i = 0; i < 5; ++i) range(1100 + 100 * i, 50, "op", "view");  // hidden by the kernel: 50 ns
  range(2200, 400, "op", "relu", 8);                                    // 10 ns
  builder_.append(Allocation{.timeNs = 2300, .thread = ThreadId(1)});   // 4 ns
  kernel(3000, 1000, 8);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.bands.run[Cause::Compute], 2 * 10);
  EXPECT_EQ(analysis.bands.run.idleNs(), 50 + 10 + 4);
  EXPECT_EQ(analysis.devices.at(0).bands, analysis.bands.run);
  EXPECT_EQ(analysis.devices.at(0).queues.at(0).bands, analysis.bands.run);
  for (std::size_t i = 0; i < kCauseCount; ++i) EXPECT_LE(analysis.bands.run.ns[i], analysis.ledger.ns[i]) << i;
}

TEST_F(BandsTest, NoBandIsWiderThanItsFigure) {
  for (int i = 0; i < 100; ++i) range(1000 + i, 1, "op", "view");  // a microsecond in all
  kernel(1000, 100, 7);
  kernel(1130, 5, 8);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.bands.run.idleNs(), 30);
  EXPECT_EQ(analysis.bands.run[Cause::Compute], 10 + 5);
  EXPECT_EQ(analysis.kernels.at(0).recordingNs, 20);
}

TEST_F(BandsTest, OperatorsHoldWhatWasRecordedWithinThem) {
  range(1000, 500, "op", "linear", 7);
  range(1100, 200, "op", "addmm");
  builder_.append(Allocation{.timeNs = 1150, .thread = ThreadId(1), .action = MemoryAction::Allocate, .bytes = 8});
  kernel(2000, 300, 7);
  const Analysis analysis = analysed();
  const auto row = [&](std::string_view name) {
    return *std::find_if(analysis.operators.begin(), analysis.operators.end(),
                         [&](const OperatorRow& r) { return r.name == name; });
  };
  EXPECT_EQ(row("linear").recordingNs, 10 + 10 + 4);
  EXPECT_EQ(row("linear").selfRecordingNs, 10);
  EXPECT_EQ(row("linear").deviceRecordingNs, 10);
  EXPECT_EQ(row("addmm").recordingNs, 10 + 4);
  EXPECT_EQ(row("addmm").selfRecordingNs, 10 + 4);
}

TEST_F(BandsTest, CallsAndLaunchesHoldWhatWasRecordedMeanwhile) {
  builder_.append(ApiCall{.startNs = 1000,
                          .durNs = 100,
                          .thread = ThreadId(1),
                          .name = builder_.intern("cudaLaunchKernel"),
                          .correlation = 7});
  for (const TimeNs at : {1050, 1300, 1400}) builder_.append(Allocation{.timeNs = at, .thread = ThreadId(1)});
  kernel(1500, 1000, 7);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.launches.medianCallNs, 100);
  EXPECT_EQ(analysis.launches.callRecordingNs, 4);
  EXPECT_EQ(analysis.launches.medianDelayNs, 400);
  EXPECT_EQ(analysis.launches.delayRecordingNs, 4 + 4);
  ASSERT_EQ(analysis.calls.size(), 1U);
  EXPECT_EQ(analysis.calls[0].recordingNs, 4);
  const std::string json = renderJson(analysis);
  for (const char* part : {"\"call_recording_ns\":4", "\"delay_recording_ns\":8"}) {
    std::string plain;
    std::copy_if(json.begin(), json.end(), std::back_inserter(plain), [](char c) { return c != ' ' && c != '\n'; });
    EXPECT_NE(plain.find(part), std::string::npos) << part;
  }
}

TEST_F(BandsTest, CopiesAndCollectivesOfACpuAreToldAsRanges) {
  for (const std::int64_t dur : {100, 5}) {
    builder_.append(Memcpy{.startNs = 1000 + dur,
                           .durNs = dur,
                           .queue = QueueId(1),
                           .device = DeviceId(1),
                           .bytes = 8,
                           .copyKind = CopyKind::HostToDevice});
  }
  builder_.append(Memset{.startNs = 1500, .durNs = 100, .queue = QueueId(1), .device = DeviceId(1)});
  builder_.append(Kernel{.startNs = 2000,
                         .durNs = 300,
                         .queue = QueueId(1),
                         .device = DeviceId(1),
                         .name = builder_.intern("ncclDevKernel_AllReduce")});
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.copies.byKind[static_cast<std::size_t>(CopyKind::HostToDevice)].recordingNs, 10 + 5);
  EXPECT_EQ(analysis.copies.memsetRecordingNs, 10);
  EXPECT_EQ(analysis.communication.recordingNs, 10);
  ASSERT_EQ(analysis.communication.collectives.size(), 1U);
  EXPECT_EQ(analysis.communication.collectives[0].recordingNs, 10);
}

TEST_F(BandsTest, RanksHoldWhatWasRecordedOnTheirDevices) {
  for (const std::int32_t rank : {0, 1}) {
    const auto id = static_cast<std::uint32_t>(2 + rank);
    builder_.append(Process{.id = ProcessId(id), .osPid = id, .rank = rank});
    builder_.append(Thread{.id = ThreadId(id), .process = ProcessId(id)});
    builder_.append(Device{.id = DeviceId(id), .kind = DeviceKind::Cpu});
    builder_.append(Queue{.id = QueueId(id), .device = DeviceId(id), .process = ProcessId(id)});
    builder_.append(Kernel{.startNs = 1000 + 40 * rank,
                           .durNs = 300 - 40 * rank,
                           .queue = QueueId(id),
                           .device = DeviceId(id),
                           .name = builder_.intern("ncclDevKernel_AllReduce")});
  }
  const Analysis analysis = analysed();
  ASSERT_EQ(analysis.ranks.rows.size(), 2U);
  const RankRow& first = analysis.ranks.rows[0];
  EXPECT_EQ(first.waitNs, 40);
  EXPECT_EQ(first.waitRecordingNs, 10);
  EXPECT_EQ(first.transferNs, 260);
  EXPECT_EQ(first.transferRecordingNs, 10);
  EXPECT_EQ(first.computeRecordingNs, 0);
  EXPECT_EQ(analysis.ranks.rows[1].heldUpRecordingNs, 10);
}

TEST_F(BandsTest, KernelsOfAGpuAreNotMadeLonger) {
  builder_.append(Device{.id = DeviceId(2), .kind = DeviceKind::Cuda});
  builder_.append(Queue{.id = QueueId(2), .device = DeviceId(2), .process = ProcessId(1)});
  builder_.append(Kernel{
      .startNs = 1000, .durNs = 500, .queue = QueueId(2), .device = DeviceId(2), .name = builder_.intern("gemm")});
  kernel(1000, 500, 9);
  const Analysis analysis = analysed();
  for (const KernelRow& row : analysis.kernels) EXPECT_EQ(row.recordingNs, row.name == "gemm" ? 0 : 10) << row.name;
  EXPECT_EQ(analysis.bands.run[Cause::Compute], 10);
}

TEST(Operators, AreCountedHoweverDeepTheyNest) {
  // Were each looked at by all those within it, this would take the test's time.
  constexpr TimeNs kDeep = 100'000;
  StoreBuilder builder;
  const auto add = [&](TimeNs startNs, TimeNs durNs, TimeNs i) {
    builder.append(Range{.startNs = startNs,
                         .durNs = durNs,
                         .thread = ThreadId(1),
                         .category = builder.intern("cpu_op"),
                         .name = builder.intern(i % 2 == 0 ? "even" : "odd")});
  };
  for (TimeNs i = 0; i < kDeep; ++i) add(i, 2 * (kDeep - i), i);
  add(3 * kDeep, 10, 0);
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  ASSERT_EQ(analysis->operators.size(), 2U);
  for (const OperatorRow& row : analysis->operators) {
    const bool isEven = row.name == "even";
    EXPECT_EQ(row.count, static_cast<std::uint64_t>(kDeep / 2 + (isEven ? 1 : 0)));
    EXPECT_EQ(row.totalNs, isEven ? 2 * kDeep + 10 : 2 * (kDeep - 1)) << "a nested one's time counts once";
    EXPECT_EQ(row.selfNs, isEven ? kDeep + 10 : kDeep);
  }
}

TEST(SelfOverhead, OfARankIsWhatThatRecorded) {
  StoreBuilder builder;
  builder.append(Environment{{}, builder.intern("self.cost.range"), builder.intern("10")});
  builder.append(Environment{{}, builder.intern("self.cost.mark"), builder.intern("4")});
  builder.append(CounterTrack{.id = TrackId(1), .process = ProcessId(1)});
  builder.append(CounterTrack{.id = TrackId(2), .thread = ThreadId(2)});
  for (const std::uint32_t rank : {1U, 2U}) {
    builder.append(Range{.startNs = 10, .durNs = 5, .thread = ThreadId(rank)});
    builder.append(Mark{.timeNs = 20, .thread = ThreadId(rank)});
    builder.append(CounterSample{.timeNs = 30, .track = TrackId(rank)});
    builder.append(Overhead{.startNs = 40, .durNs = 100 * rank, .thread = ThreadId(rank)});
  }
  const auto store = builder.build();
  Selection first;
  first.everything = false;
  first.processes = {ProcessId(1)};
  first.processOfThread = {{ThreadId(1), ProcessId(1)}, {ThreadId(2), ProcessId(2)}};
  EXPECT_EQ(selfOverheadOf(*store, {0, 1000}, 1, {.only = first, .steps = {}, .taken = {}}, {0, 1000})->nsPerStep,
            10 + 2 * 4 + 100);
  EXPECT_EQ(selfOverhead(*store, {0, 1000}, 1)->nsPerStep, 2 * (10 + 2 * 4) + 100 + 200);
}

TEST(SelfOverhead, IsUnknownWhereNothingWasMeasured) {
  StoreBuilder builder;
  builder.append(Range{.startNs = 1, .durNs = 1, .thread = ThreadId(1)});
  const auto store = builder.build();
  EXPECT_FALSE(selfOverhead(*store, {}, 1)->known);
  const auto analysis = analyse(store);
  ASSERT_TRUE(analysis);
  EXPECT_EQ(analysis->bands.run.totalNs(), 0);
}

LoaderStats loaderOf(std::uint32_t workers, std::int64_t fetchNs, std::int64_t decodeNs) {
  LoaderStats loader;
  loader.present = true;
  loader.batches = 10;
  loader.workers = workers;
  loader.stageNs = {fetchNs, decodeNs, 0, 0};
  loader.busyNs = fetchNs + decodeNs;
  loader.spanNs = 150'000'000;
  return loader;
}

TEST(LoaderVerdict, SaysWhatBindsAndWhatWouldHideIt) {
  // A batch takes 10 of a step's 15 ms; the other 5 ms use one up in the time.
  const LoaderVerdict reading = loaderVerdict(loaderOf(0, 80'000'000, 20'000'000), 15'000'000, 10'000'000, 0);
  EXPECT_EQ(reading.bound, LoaderBound::Reading);
  EXPECT_EQ(reading.workersNeeded, 2u);
  EXPECT_EQ(reading.prefetchNeeded, 2u);
  const auto bound = [](const LoaderStats& loader, std::int64_t wait, std::int64_t copy) {
    return loaderVerdict(loader, 15'000'000, wait, copy).bound;
  };
  EXPECT_EQ(bound(loaderOf(0, 20'000'000, 80'000'000), 10'000'000, 0), LoaderBound::Computing);
  EXPECT_EQ(bound(loaderOf(2, 20'000'000, 10'000'000), 10'000'000, 0), LoaderBound::HandOver);
  EXPECT_EQ(bound(loaderOf(2, 20'000'000, 10'000'000), 1'000'000, 3'000'000), LoaderBound::Copy);
  EXPECT_EQ(bound(loaderOf(2, 20'000'000, 10'000'000), 100'000, 0), LoaderBound::None);
}

TEST(RunDiff, TellsChangesFromNoise) {
  const std::vector<std::int64_t> quiet{100, 101, 99, 100, 100, 102, 98, 100};
  std::vector<std::int64_t> slower;
  for (const std::int64_t ns : quiet) slower.push_back(ns + 20);
  const Difference change = compareSteps("step", quiet, slower, 5);
  EXPECT_EQ(change.changeNs, 20);
  EXPECT_LE(change.lowNs, 20);
  EXPECT_GE(change.highNs, 20);
  EXPECT_GT(change.lowNs, 15);
  EXPECT_EQ(change.verdict, DiffVerdict::Slower);
  EXPECT_EQ(change.before.madNs, 0);
  EXPECT_EQ(compareSteps("step", slower, quiet, 5).verdict, DiffVerdict::Faster);
  const std::vector<std::int64_t> noisy{60, 140, 75, 130, 100, 90, 120, 80}, alike{65, 150, 80, 125, 104, 95, 118, 70};
  EXPECT_EQ(compareSteps("step", noisy, alike, 1).verdict, DiffVerdict::Same);
}

TEST(RunDiff, NamesWhatIsNewAndGone) {
  const std::vector<std::int64_t> some{50, 50, 50}, none;
  EXPECT_EQ(compareSteps("a", none, some, 5).verdict, DiffVerdict::New);
  EXPECT_EQ(compareSteps("a", some, none, 5).verdict, DiffVerdict::Gone);
  EXPECT_EQ(compareSteps("a", some, none, 60).verdict, DiffVerdict::Same);
}

/// On one thread, in ns: outer 0 to 100, inner 20 to 60 within it, and inner 200 to 260 alone.
///   10 takes 1000 (outer's own), 30 takes 500 and 50 gives back 200 (the first inner's own), 90 gives back 500
///   (outer's own), 210 takes 64 (the second inner's own), 300 takes 7 (nobody's).
TEST(OperatorMemory, IsTheInnermostsOwnAndOfAllAround) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  const auto range = [&](TimeNs start, TimeNs dur, const char* name) {
    builder.append(Range{.startNs = start,
                         .durNs = dur,
                         .thread = ThreadId(1),
                         .category = builder.intern("cpu_op"),
                         .name = builder.intern(name)});
  };
  range(0, 100, "outer");
  range(20, 40, "inner");
  range(200, 60, "inner");
  const auto memory = [&](TimeNs at, MemoryAction action, std::uint64_t bytes) {
    builder.append(Allocation{.timeNs = at,
                              .thread = ThreadId(1),
                              .device = DeviceId(1),
                              .action = action,
                              .address = static_cast<std::uint64_t>(at) * 4096,
                              .bytes = bytes});
  };
  using enum MemoryAction;
  for (const auto& [at, action, bytes] :
       {std::tuple(10, Allocate, 1000), std::tuple(30, Allocate, 500), std::tuple(50, Free, 200),
        std::tuple(90, Free, 500), std::tuple(210, Allocate, 64), std::tuple(300, Allocate, 7)})
    memory(at, action, static_cast<std::uint64_t>(bytes));
  // Segments are the allocator's and no operator's.
  memory(40, Reserve, 1 << 20);
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
  for (const OperatorRow& row : analysis->operators) found[row.name] = {row.memBytes, row.selfMemBytes};
  using Figures = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(found["outer"], Figures(1000 + 500 - 200 - 500, 1000 - 500));
  EXPECT_EQ(found["inner"], Figures(500 - 200 + 64, 500 - 200 + 64));
}

}  // namespace
}  // namespace lacuna::analyzer
