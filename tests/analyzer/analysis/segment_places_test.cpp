// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "analyzer/analysis/collected_segments.h"

/// Where the collected segments lie: in steps, between them, before them and after.
namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;
using testing::ElementsAre;

TEST(SegmentPlaces, TimeWithoutACauseHasAPlace) {
  const std::vector<TimeWindow> steps{{100, 200}, {250, 300}};
  const auto places = [](const Analysis& made) {
    return std::vector{made.of<UnknownPlaces>().beforeNs, made.of<UnknownPlaces>().inStepsNs,
                       made.of<UnknownPlaces>().betweenNs, made.of<UnknownPlaces>().behindNs};
  };
  EXPECT_THAT(places(Collected(steps).add(0, 400, Cause::Unknown).finish()),
              ElementsAre(100, 150, 50, 100));
  EXPECT_THAT(places(Collected(steps).add(0, 90, Cause::Unknown).finish()),
              ElementsAre(90, 0, 0, 0));
  EXPECT_THAT(places(Collected(steps).add(300, 310, Cause::Unknown).finish()),
              ElementsAre(0, 0, 0, 10));
  EXPECT_THAT(places(Collected(steps).add(199, 251, Cause::Unknown).finish()),
              ElementsAre(0, 2, 50, 0));
  EXPECT_THAT(places(Collected(steps, {{50, 350}}).add(0, 400, Cause::Unknown).finish()),
              ElementsAre(50, 150, 50, 50));
  EXPECT_THAT(places(Collected(steps).add(0, 400, Cause::OffCpu).finish()),
              ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(places(Collected({}).add(0, 400, Cause::Unknown).finish()), ElementsAre(0, 0, 0, 0))
      << "no steps";
}

TEST(SegmentPlaces, LongHostWorkIsOfStretchesWhateverTheirWorkIsCalled) {
  constexpr TimeNs kMs = 1'000'000;
  const std::vector<TimeWindow> steps{{0, 10 * kMs}, {10 * kMs, 20 * kMs}};
  Collected collected(steps);
  collected.add(0, kMs / 4, Cause::HostWork, "add").add(kMs / 4, kMs, Cause::Compute);
  collected.add(kMs, kMs + kMs / 4, Cause::HostWork, "checkpoint")
      .add(kMs + kMs / 4, 2 * kMs, Cause::HostWork, "step");
  collected.add(2 * kMs, 9 * kMs, Cause::Compute).add(9 * kMs, 12 * kMs, Cause::HostWork, "step");
  collected.add(12 * kMs, 20 * kMs, Cause::Compute)
      .add(20 * kMs, 30 * kMs, Cause::HostWork, "evaluate");
  EXPECT_EQ(collected.finish().of<IdleCauses>().longHostWorkNs, (kMs + 3 * kMs) / 2)
      << "of two steps";
}

/// Segments without a gap, and steps, at random in 0 … 300.
struct RandomSegments {
  explicit RandomSegments(unsigned seed) {
    std::mt19937 random(seed);
    for (TimeNs at = static_cast<TimeNs>(random() % 40); at < 300;) {
      const TimeNs end = at + 5 + static_cast<TimeNs>(random() % 50);
      steps.push_back({at, end});
      at = end + static_cast<TimeNs>(random() % 3 * (random() % 20));
    }
    for (TimeNs at = 0; at < 300;) {
      const TimeNs end = std::min<TimeNs>(300, at + 1 + static_cast<TimeNs>(random() % 60));
      segments.push_back({at, end, static_cast<Cause>(random() % kCauseCount), {}, {}});
      at = end;
    }
    device.startNs = static_cast<TimeNs>(random() % 100);
    device.endNs = device.startNs + 1 + static_cast<TimeNs>(random() % 200);
  }
  std::vector<TimeWindow> steps;
  std::vector<LedgerSegment> segments;
  TimeWindow device;
};

TEST(SegmentPlaces, SumsAreThoseOfEachNanosecond) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const RandomSegments random(seed);
    Collected collected(random.steps, {random.device});
    std::vector<Ledger> steps(random.steps.size());
    Ledger device;
    UnknownPlaces places;
    for (const LedgerSegment& segment : random.segments) {
      collected.add(segment.startNs, segment.endNs, segment.cause);
      for (TimeNs at = segment.startNs; at < segment.endNs; ++at) {
        const auto behind =
            std::ranges::find_if(random.steps, [&](const TimeWindow& s) { return at < s.endNs; });
        const auto next = static_cast<std::size_t>(behind - random.steps.begin());
        const bool inStep = behind != random.steps.end() && at >= behind->startNs;
        const bool between = !inStep && next > 0 && next < steps.size();
        if (inStep) steps[next].add(segment.cause, 1);
        if (at < random.device.startNs || at >= random.device.endNs) continue;
        device.add(segment.cause, 1);
        if (segment.cause != Cause::Unknown) continue;
        ++(inStep      ? places.inStepsNs
           : between   ? places.betweenNs
           : next == 0 ? places.beforeNs
                       : places.behindNs);
      }
    }
    const Analysis& made = collected.finish();
    EXPECT_EQ(made.ledgers.steps, steps) << seed;
    EXPECT_EQ(made.ledgers.run, device) << seed;
    EXPECT_EQ(made.of<UnknownPlaces>().beforeNs, places.beforeNs) << seed;
    EXPECT_EQ(made.of<UnknownPlaces>().inStepsNs, places.inStepsNs) << seed;
    EXPECT_EQ(made.of<UnknownPlaces>().betweenNs, places.betweenNs) << seed;
    EXPECT_EQ(made.of<UnknownPlaces>().behindNs, places.behindNs) << seed;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
