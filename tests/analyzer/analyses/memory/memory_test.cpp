// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyses/memory/allocations.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using test::Allocations;
using test::evenSteps;
using test::kMiB;

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
  for (const auto& [window, bytes] :
       {std::pair(TimeWindow{200, 300}, 1700u), std::pair(TimeWindow{300, 400}, 1000u)}) {
    const auto devices = deviceMemory(*store, window);
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 1u);
    EXPECT_EQ(devices->front().peakBytes, bytes);
    EXPECT_EQ(devices->front().peakAtNs, window.startNs);
    EXPECT_EQ(devices->front().curve.front().totalBytes(), bytes);
  }
}

TEST(Memory, ShowsHowLongMemoryAtThePeakHasBeenThereAndStays) {
  // Steps begin at 100, 200, 300, 400; the peak is at 250.
  Allocations rows;
  rows.addAt(50, MemoryAction::Allocate, 1, 900, MemoryRole::Parameter);  // never freed
  rows.addAt(110, MemoryAction::Allocate, 2, 800);  // made a step earlier, freed two steps later
  rows.addAt(220, MemoryAction::Allocate, 3, 700);  // of this step, freed in it
  rows.addAt(230, MemoryAction::Allocate, 4, 600);  // its address is handed out again
  rows.addAt(240, MemoryAction::Allocate, 5, 300);
  rows.addAt(245, MemoryAction::Free, 5, 0);
  rows.addAt(250, MemoryAction::Allocate, 6, 400);
  rows.addAt(260, MemoryAction::Free, 3, 0);
  rows.addAt(270, MemoryAction::Free, 6, 0);
  rows.addAt(310, MemoryAction::Allocate, 4, 100);
  rows.addAt(311, MemoryAction::Free, 4, 0);
  rows.addAt(450, MemoryAction::Free, 2, 0);
  // The window ends before the last free, which counts all the same.
  const auto stats = memoryStats(*rows.built(), {0, 320}, evenSteps(4));
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->peakAtNs, 250);
  ASSERT_EQ(stats->live.size(), 5u);
  ASSERT_EQ(stats->lives.size(), 5u);
  const auto life = [&](std::size_t at) {
    const TensorLife& one = stats->lives[at];
    return std::to_string(stats->live[at].bytes) + ": " + std::to_string(one.stepsOld) +
           " steps, " + (one.freed ? "to " + std::to_string(one.freedNs) : "on") + ", " +
           std::to_string(one.stepsAhead) + " steps";
  };
  EXPECT_EQ(life(0), "900: 2 steps, on, 2 steps");
  EXPECT_EQ(life(1), "800: 1 steps, to 450, 2 steps");
  EXPECT_EQ(life(2), "700: 0 steps, to 260, 0 steps");
  EXPECT_EQ(life(3), "600: 0 steps, to 310, 1 steps");
  EXPECT_EQ(life(4), "400: 0 steps, to 270, 0 steps");
  for (const TensorLife& one : stats->lives) EXPECT_EQ(one.device, DeviceId(1));
}

/// 40 steps that each allocate 16 KiB; every `emptied`-th gives all of it back.
std::int64_t leakOf(int emptied) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  std::vector<std::uint64_t> alive;
  const auto memory = [&](TimeNs time, MemoryAction action, std::uint64_t address) {
    builder.append(Allocation{.timeNs = time,
                              .thread = ThreadId(1),
                              .action = action,
                              .address = address,
                              .bytes = 16 << 10});
  };
  for (int step = 0; step < 40; ++step) {
    const TimeNs start = 1000 * step;
    builder.append(Range{
        .startNs = start, .durNs = 990, .thread = ThreadId(1), .name = builder.intern("step")});
    alive.push_back(static_cast<std::uint64_t>(step + 1) << 20);
    memory(start + 500, MemoryAction::Allocate, alive.back());
    if (emptied == 0 || step % emptied != emptied - 1) continue;
    for (const std::uint64_t address : alive) memory(start + 600, MemoryAction::Free, address);
    alive.clear();
  }
  return analyse(builder.build())->of<MemoryTables>().all.leakBytesPerStep;
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

TEST(Memory, AQueueThatFillsAndEmptiesIsNoLeak) {
  EXPECT_EQ(leakOf(0), 16 << 10);
  EXPECT_EQ(leakOf(10), 0);
}

}  // namespace
}  // namespace lacuna::analyzer
