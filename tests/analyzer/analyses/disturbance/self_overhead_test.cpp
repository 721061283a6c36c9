// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "analyses/disturbance/recording_bands.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/nvtx_mapper.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

TEST(SelfOverhead, ACostIsANumberOfNanosecondsOrNothing) {
  const auto costOf = [](const char* text) {
    StoreBuilder builder;
    builder.append(
        Environment{.key = builder.intern("self.cost.range"), .value = builder.intern(text)});
    return eventCosts(*builder.build()).rangeNs;
  };
  EXPECT_EQ(costOf("7.5"), 7.5);
  for (const char* text : {"", "fast", "7,5", "-3", "inf", "nan", "1e300"})
    EXPECT_EQ(costOf(text), 0) << text;
}

TEST(SelfOverhead, MultipliesEventsWithWhatTheyCost) {
  StoreBuilder builder;
  builder.append(
      Environment{.key = builder.intern("self.cost.range"), .value = builder.intern("50.0")});
  builder.append(
      Environment{.key = builder.intern("self.cost.mark"), .value = builder.intern("20.0")});
  for (int i = 0; i < 10; ++i)
    builder.append(Range{.startNs = i, .durNs = 1, .thread = ThreadId(1)});
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

TEST(SelfOverhead, WatchingCostsMoreThanTheEvents) {
  StoreBuilder builder;
  const auto cost = [&](const char* key, const char* value) {
    builder.append(Environment{{}, builder.intern(key), builder.intern(value)});
  };
  cost("self.cost.range", "10");
  cost("self.cost.mark", "4");
  cost("knob.self.cost.operator", "100");
  cost("knob.self.cost.module", "1000");
  cost("knob.self.cost.memory", "20");
  TimeNs at = 0;
  for (const char* category : {"operator", "operator", "operator", "module", "phase", "other"}) {
    builder.append(Range{.startNs = ++at,
                         .durNs = 1,
                         .thread = ThreadId(1),
                         .category = builder.intern(category),
                         .name = {}});
  }
  builder.append(Allocation{.timeNs = 1});
  builder.append(Mark{.timeNs = 1});
  const auto overhead = selfOverhead(*builder.build(), {0, 1000}, 1);
  ASSERT_TRUE(overhead);
  const auto part = [&](std::string_view kind) {
    const auto found = std::ranges::find(overhead->parts, kind, &OverheadPart::kind);
    return found == overhead->parts.end() ? -1 : found->nsPerStep;
  };
  EXPECT_EQ(part("range"), 6 * 10);
  EXPECT_EQ(part("mark"), 2 * 4);
  EXPECT_EQ(part("operator"), 3 * 100);
  EXPECT_EQ(part("module"), 2 * 1000);
  EXPECT_EQ(part("memory"), 20);
  EXPECT_EQ(overhead->nsPerStep, 60 + 8 + 300 + 2000 + 20);
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
  EXPECT_EQ(
      selfOverheadOf(*store, {0, 1000}, 1, {.only = first, .steps = {}, .taken = {}}, {0, 1000})
          ->nsPerStep,
      10 + 2 * 4 + 100);
  EXPECT_EQ(selfOverhead(*store, {0, 1000}, 1)->nsPerStep, 2 * (10 + 2 * 4) + 100 + 200);
}

/// Thirty steps of 1,000 ns and, between them, as many plain ones of `plainNs`.
std::shared_ptr<const Store> withPlainSteps(TimeNs plainNs, int plain = 30) {
  StoreBuilder builder;
  const StringId category = builder.intern("step"), detailed = builder.intern("step");
  const StringId quick = builder.intern("plain step");
  TimeNs at = 0;
  for (int i = 0; i < 30 + plain; ++i) {
    const bool isPlain = 10 <= i && i < 10 + plain;
    const TimeNs dur = isPlain ? plainNs : 1'000;
    builder.append(Range{.startNs = at,
                         .durNs = dur,
                         .thread = ThreadId(1),
                         .category = category,
                         .name = isPlain ? quick : detailed});
    at += dur;
  }
  return builder.build();
}

TEST(SelfOverhead, IsMeasuredAgainstPlainSteps) {
  const auto analysis = analyse(withPlainSteps(800));
  ASSERT_TRUE(analysis);
  const SelfOverhead& overhead = analysis->of<SelfOverhead>();
  EXPECT_TRUE(overhead.known);
  EXPECT_EQ(overhead.detailNsPerStep, 200);
  EXPECT_EQ(overhead.plainSteps, 30u);
  EXPECT_NEAR(static_cast<double>(overhead.nsPerStep), 100, 3) << "half of the steps are plain";
}

TEST(SelfOverhead, OfUnevenStepsIsWhatTheirEventsCost) {
  // Every other step takes a tenth, so that the medians differ by chance; the events of a step take
  // 30 ns.
  StoreBuilder builder;
  builder.append(
      Environment{.key = builder.intern("self.cost.range"), .value = builder.intern("30")});
  builder.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu});
  builder.append(
      Queue{.id = QueueId(1), .device = DeviceId(1), .process = {}, .nativeId = 0, .name = {}});
  TimeNs at = 0;
  for (int i = 0; i < 61; ++i) {
    const bool isPlain = 20 <= i && i < 40;
    const TimeNs dur = i % 2 == 0 ? 1'000 : isPlain ? 100 : 400;
    builder.append(Range{.startNs = at,
                         .durNs = dur,
                         .thread = ThreadId(1),
                         .category = builder.intern("step"),
                         .name = builder.intern(isPlain ? "plain step" : "step")});
    if (!isPlain)
      builder.append(
          Kernel{.startNs = at, .durNs = dur - 10, .queue = QueueId(1), .device = DeviceId(1)});
    at += dur;
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  const auto bandsNs = static_cast<double>(analysis->meanStepBands().totalNs());
  ASSERT_GT(bandsNs, 0);
  EXPECT_NEAR(static_cast<double>(analysis->of<SelfOverhead>().detailNsPerStep), bandsNs,
              0.5 * bandsNs);
}

TEST(SelfOverhead, IsNoGainOfTime) {
  const auto analysis = analyse(withPlainSteps(1'100));
  ASSERT_TRUE(analysis);
  EXPECT_EQ(analysis->of<SelfOverhead>().detailNsPerStep, 0);
}

TEST(SelfOverhead, IsNotMeasuredAgainstFewSteps) {
  const auto analysis = analyse(withPlainSteps(800, 4));
  ASSERT_TRUE(analysis);
  EXPECT_EQ(analysis->of<SelfOverhead>().plainSteps, 0u);
  EXPECT_EQ(analysis->of<SelfOverhead>().detailNsPerStep, 0);
}

TEST(SelfOverhead, IsUnknownWhereNothingWasMeasured) {
  StoreBuilder builder;
  builder.append(Range{.startNs = 1, .durNs = 1, .thread = ThreadId(1)});
  const auto store = builder.build();
  EXPECT_FALSE(selfOverhead(*store, {}, 1)->known);
  const auto analysis = analyse(store);
  ASSERT_TRUE(analysis);
  EXPECT_EQ(analysis->ledgers.bands.run.totalNs(), 0);
}

}  // namespace
}  // namespace lacuna::analyzer
