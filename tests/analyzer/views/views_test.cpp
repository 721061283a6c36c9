// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/flame.h"
#include "lacuna/analyzer/histogram.h"
#include "lacuna/analyzer/ledger_strip.h"
#include "lacuna/analyzer/memory_at.h"
#include "lacuna/analyzer/store_builder.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::MemoryAction;
using prof::MemoryRole;
using prof::ThreadId;

Ledger sumOf(const LedgerStrip& strip) {
  Ledger sum;
  for (const CauseLane& cause : strip.causes) {
    for (std::size_t i = 0; i < cause.lane.size(); ++i) sum.add(cause.cause, cause.lane.durNs(i));
  }
  return sum;
}

class StripTest : public ::testing::Test {
 protected:
  Analysis analysis_ = *analyse(test::makeRun({.batchNs = 8'000'000, .syncEachStep = true}));
};

TEST_F(StripTest, SumsAreTheLedgers) {
  const auto strips = ledgerStrips(analysis_);
  ASSERT_TRUE(strips);
  ASSERT_EQ(strips->size(), analysis_.devices.size());
  for (std::size_t i = 0; i < strips->size(); ++i) EXPECT_EQ(sumOf((*strips)[i]), analysis_.devices[i].ledger);
}

TEST_F(StripTest, LimitedResolutionKeepsTheSums) {
  const auto strips = ledgerStrips(analysis_, {.exactRows = 0, .progress = {}});
  ASSERT_TRUE(strips);
  EXPECT_GT((*strips)[0].resolutionNs, 0);
  EXPECT_EQ(sumOf((*strips)[0]), analysis_.devices[0].ledger);
}

TEST_F(StripTest, EveryMomentHasOneCause) {
  const LedgerStrip strip = std::move(ledgerStrips(analysis_)->front());
  for (int i = 0; i < 1000; ++i) {
    const auto at = strip.window.startNs + (strip.window.endNs - strip.window.startNs) * i / 1000;
    EXPECT_NE(causeAt(strip, at).lane, nullptr) << i;
  }
  EXPECT_EQ(causeAt(strip, strip.window.startNs - 10).lane, nullptr);
}

TEST_F(StripTest, CanBeCancelled) {
  EXPECT_FALSE(ledgerStrips(analysis_, {.progress = [](double) { return false; }}));
}

class FlameTest : public ::testing::Test {
 protected:
  void range(std::uint32_t thread, prof::TimeNs start, prof::TimeNs length, std::string_view name) {
    trace_.append(
        prof::Range{.startNs = start, .durNs = length, .thread = ThreadId(thread), .name = trace_.intern(name)});
  }
  /// "name total self count" of every node, parents first.
  std::vector<std::string> show(prof::TimeWindow window = {}) {
    const auto store = trace_.build();
    const FlameGraph graph = *flameGraph(*store, window);
    std::vector<std::string> out;
    for (const FlameNode& node : graph.nodes) {
      if (node.depth < 2) continue;
      out.push_back(std::string(store->text(node.name)) + " " + std::to_string(node.totalNs) + " " +
                    std::to_string(node.selfNs) + " " + std::to_string(node.count));
    }
    return out;
  }
  StoreBuilder trace_;
};

TEST_F(FlameTest, MergesEqualStacks) {
  for (int i = 0; i < 3; ++i) {
    range(1, i * 100, 80, "step " + std::to_string(i));
    range(1, i * 100 + 10, 30, "forward");
    range(1, i * 100 + 20, 10, "relu");
  }
  EXPECT_THAT(show(), testing::ElementsAre("step 0 240 150 3", "forward 90 60 3", "relu 30 30 3"));
}

TEST_F(FlameTest, SaysWhichStacksAreSeveralSteps) {
  range(1, 0, 80, "step 0");
  range(1, 10, 30, "forward");
  range(1, 100, 80, "step 1");
  const auto store = trace_.build();
  const auto merged = [&](prof::TimeWindow window) {
    std::vector<std::string> names;
    const FlameGraph graph = *flameGraph(*store, window);
    for (const FlameNode& node : graph.nodes) {
      if (node.mergesSteps) names.emplace_back(store->text(node.name));
    }
    return names;
  };
  EXPECT_THAT(merged({}), testing::ElementsAre("step 0"));
  EXPECT_THAT(merged({0, 90}), testing::IsEmpty());
}

TEST_F(FlameTest, CutsWhatReachesOutOfTheWindowOrItsParent) {
  range(1, 0, 100, "a");
  range(1, 50, 100, "b");
  EXPECT_THAT(show({20, 80}), testing::ElementsAre("a 60 30 1", "b 30 30 1"));
}

TEST_F(FlameTest, KeepsThreadsApart) {
  range(1, 0, 100, "a");
  range(2, 0, 40, "a");
  const FlameGraph graph = *flameGraph(*trace_.build());
  EXPECT_EQ(graph.nodes[0].totalNs, 140);
  ASSERT_EQ(graph.nodes[0].children.size(), 2u);
  EXPECT_EQ(graph.nodes[graph.nodes[0].children[0]].thread, ThreadId(1));
  EXPECT_EQ(graph.nodes[graph.nodes[0].children[1]].totalNs, 40);
}

TEST_F(FlameTest, WhatKinetoSaysOfItselfIsNoWork) {
  const auto traced = [&](std::uint32_t thread, prof::TimeNs length, std::string_view name) {
    trace_.append(prof::Range{
        .durNs = length, .thread = ThreadId(thread), .category = trace_.intern("Trace"), .name = trace_.intern(name)});
  };
  traced(9, 1000, "PyTorch Profiler (0)");
  traced(1, 50, "work of a program");
  range(1, 100, 40, "PyTorch Profiler (0)");
  EXPECT_THAT(show(), testing::ElementsAre("work of a program 50 50 1", "PyTorch Profiler (0) 40 40 1"));
}

class MemoryAtTest : public ::testing::Test {
 protected:
  void row(prof::TimeNs time, MemoryAction action, std::uint64_t address, std::uint64_t bytes,
           MemoryRole role = MemoryRole::Activation) {
    trace_.append(Allocation{.timeNs = time, .action = action, .role = role, .address = address, .bytes = bytes});
  }
  StoreBuilder trace_;
};

TEST_F(MemoryAtTest, ListsWhatIsAliveWithItsLifetime) {
  row(0, MemoryAction::Reserve, 1, 4096);
  row(10, MemoryAction::Allocate, 1, 100, MemoryRole::Parameter);
  row(20, MemoryAction::Allocate, 2, 300);
  row(30, MemoryAction::Free, 2, 300);
  row(40, MemoryAction::Allocate, 2, 50);
  const auto store = trace_.build();
  const MemoryMoment at = *memoryAt(*store, 25);
  EXPECT_EQ(at.bytes, 400u);
  EXPECT_EQ(at.unusedBytes(), 3696u);
  ASSERT_EQ(at.live.size(), 2u);
  EXPECT_EQ(at.live[0].tensor.bytes, 300u);
  EXPECT_EQ(at.live[0].lifetimeNs(), 10);
  EXPECT_FALSE(at.live[1].freed);
  EXPECT_EQ(at.byRole[static_cast<std::size_t>(MemoryRole::Parameter)], 100u);
  EXPECT_EQ(memoryAt(*store, 30)->bytes, 400u);
  EXPECT_EQ(memoryAt(*store, 31)->bytes, 100u);
  EXPECT_EQ(memoryAt(*store, 5)->bytes, 0u);
  EXPECT_EQ(memoryAt(*store, 45)->bytes, 150u);
}

TEST_F(MemoryAtTest, AnAddressThatIsHandedOutAtOnceHidesNoLaterFree) {
  row(1, MemoryAction::Allocate, 1, 100);
  row(2, MemoryAction::Allocate, 2, 300);
  row(10, MemoryAction::Free, 1, 100);
  row(10, MemoryAction::Allocate, 1, 200);
  row(20, MemoryAction::Free, 1, 200);
  row(30, MemoryAction::Free, 2, 300);
  const MemoryMoment at = *memoryAt(*trace_.build(), 10);
  ASSERT_EQ(at.live.size(), 2u);
  for (const LiveBlock& block : at.live) EXPECT_TRUE(block.freed) << block.tensor.bytes;
  EXPECT_EQ(at.live[0].freedNs, 30);
  EXPECT_EQ(at.live[1].freedNs, 20);
}

TEST_F(MemoryAtTest, IsThatOfOneDeviceWhereOneIsAskedFor) {
  for (std::uint32_t device : {1U, 2U}) {
    for (const auto action : {MemoryAction::Reserve, MemoryAction::Allocate})
      trace_.append(
          Allocation{.timeNs = 10, .device = prof::DeviceId(device), .action = action, .address = 1, .bytes = 50});
  }
  trace_.append(Allocation{
      .timeNs = 20, .device = prof::DeviceId(2), .action = MemoryAction::Allocate, .address = 2, .bytes = 100});
  const auto store = trace_.build();
  EXPECT_EQ(memoryAt(*store, 30)->bytes, 200u);
  const MemoryMoment one = *memoryAt(*store, 30, {}, prof::DeviceId(2));
  EXPECT_EQ(one.bytes, 150u);
  EXPECT_EQ(one.reservedBytes, 50u);
  EXPECT_EQ(one.live.size(), 2u);
}

TEST(MemoryAt, AgreesWithThePeak) {
  const auto analysis = *analyse(test::makeRun({.memorySpike = true}));
  ASSERT_TRUE(analysis.memory.present);
  EXPECT_EQ(memoryAt(*analysis.store, analysis.memory.peakAtNs)->bytes, analysis.memory.peakBytes);
}

TEST(Histogram, CountsEveryEventOnce) {
  StoreBuilder trace;
  const auto name = trace.intern("gemm");
  prof::TimeNs at = 0;
  for (const std::int64_t length : {10, 10, 10, 20, 1000}) {
    trace.append(prof::Kernel{.startNs = at, .durNs = length, .queue = prof::QueueId(1), .name = name});
    at += 2000;
  }
  trace.append(prof::Kernel{.startNs = at, .durNs = 7, .queue = prof::QueueId(1), .name = trace.intern("relu")});
  const auto tracks = *buildTracks(*trace.build());
  const DurationHistogram h = durationHistogram(*tracks, TrackKind::Work, name, 10);
  EXPECT_EQ(h.events, 5u);
  EXPECT_EQ(h.counts[0], 3u);
  EXPECT_EQ(h.counts[9], 1u);
  EXPECT_EQ(h.medianNs, 10);
  EXPECT_EQ(h.longestNs, 1000);
  EXPECT_EQ(h.totalNs, 1050);
  EXPECT_NEAR(h.bucketStartNs(10), 1000, 1e-6);
  EXPECT_EQ(durationHistogram(*tracks, TrackKind::Ranges, name).events, 0u);
}

TEST(Compare, OperatorsAndLedgersTellWhatChanged) {
  const auto before = *analyse(test::makeRun({.batchNs = 8'000'000, .workers = 1}));
  const auto after = *analyse(test::makeRun({.batchNs = 500'000, .workers = 2}));
  bool better = false;
  for (const Comparison& row : compareLedgers(before, after)) {
    EXPECT_FALSE(row.before == 0 && row.after == 0);
    better |= row.what == causeLabel(Cause::LoaderWait) && row.better();
  }
  EXPECT_TRUE(better);
  for (const Comparison& row : compareOperators(before, before)) EXPECT_FALSE(row.worse() || row.better()) << row.what;
  EXPECT_FALSE(compareOperators(before, after).empty());
}

}  // namespace
}  // namespace lacuna::analyzer
