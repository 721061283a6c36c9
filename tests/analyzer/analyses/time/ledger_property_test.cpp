// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "support/timeline_maker.h"

namespace lacuna::analyzer {
namespace {

constexpr prof::TimeNs kLength = 600;

/// Spans thrown at random: nested, crossing, empty, on any thread and queue, launched or not.
test::TimelineMaker randomTimeline(std::mt19937& random) {
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  test::TimelineMaker timeline;
  for (std::int64_t i = pick(0, 60); i > 0; --i) {
    const prof::TimeNs start = pick(-50, kLength);
    const auto activity = static_cast<Activity>(pick(1, kActivityCount - 1));
    timeline.host(static_cast<std::uint32_t>(pick(0, 4)), start, start + pick(0, 120), activity,
                  static_cast<std::uint32_t>(pick(0, 9)), static_cast<std::uint64_t>(pick(0, 20)));
    if (activity == Activity::OffCpu)
      timeline.made.host.back().wokenBy = prof::ThreadId(static_cast<std::uint32_t>(pick(0, 4)));
  }
  for (std::int64_t i = pick(0, 40); i > 0; --i) {
    const prof::TimeNs start = pick(-50, kLength);
    timeline.runs(static_cast<std::uint32_t>(pick(1, 4)), start, start + pick(0, 60),
                  static_cast<std::uint64_t>(pick(0, 20)), static_cast<Work>(pick(0, 2)));
  }
  for (std::int64_t i = pick(0, 5); i > 0; --i) {
    const prof::TimeNs start = pick(0, kLength);
    timeline.waits(static_cast<std::uint32_t>(pick(1, 4)), start, start + pick(0, 40));
  }
  return timeline;
}

bool belongs(const DeviceSpan& span, const LedgerScope& scope) {
  return scope.queue ? span.queue == scope.queue
                     : (span.queue.value <= 2) == (scope.device.value == 1);
}

/// Stretches in which work may have run that was not recorded, of launches that are known or not.
std::vector<DeviceSpan> randomUnrecorded(std::mt19937& random) {
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  std::vector<DeviceSpan> spans;
  for (std::int64_t i = pick(0, 5); i > 0; --i) {
    const prof::TimeNs start = pick(-50, kLength);
    spans.push_back({.startNs = start,
                     .endNs = start + pick(0, 200),
                     .correlation = static_cast<std::uint64_t>(pick(0, 20)),
                     .queue = prof::QueueId(static_cast<std::uint32_t>(pick(1, 4))),
                     .name = {},
                     .work = Work::Unrecorded});
  }
  return spans;
}

/// Nanosecond by nanosecond, straight from the definition.
std::array<std::int64_t, kWorkCount> busyByDefinition(std::span<const DeviceSpan> spans,
                                                      const LedgerScope& scope,
                                                      prof::TimeWindow window) {
  std::array<std::int64_t, kWorkCount> busy{};
  for (prof::TimeNs t = window.startNs; t < window.endNs; ++t) {
    std::size_t best = kWorkCount;
    for (const DeviceSpan& span : spans) {
      if (belongs(span, scope) && span.startNs <= t && t < span.endNs)
        best = std::min(best, static_cast<std::size_t>(span.work));
    }
    if (best < kWorkCount) ++busy[best];
  }
  return busy;
}

class RandomTimelines : public testing::TestWithParam<int> {};

TEST_P(RandomTimelines, EntriesCoverTheWindowExactlyAndBusyTimeIsTheUnion) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int round = 0; round < 100; ++round) {
    const auto timeline = randomTimeline(random);
    const std::vector<DeviceSpan> unrecorded = randomUnrecorded(random);
    std::vector<DeviceSpan> all = timeline.made.device;
    all.insert(all.end(), unrecorded.begin(), unrecorded.end());
    const LedgerAccountant accountant(timeline.made, {}, unrecorded);
    const prof::TimeWindow window{
        std::uniform_int_distribution<std::int64_t>(-60, 100)(random),
        std::uniform_int_distribution<std::int64_t>(100, kLength + 100)(random)};
    for (const LedgerScope scope :
         {test::kDevice1, test::kQueue1, LedgerScope{prof::DeviceId(2), {}}}) {
      prof::TimeNs at = window.startNs;
      Ledger ledger;
      std::int64_t unrecordedNs = 0;
      accountant.account(scope, window, [&](const LedgerSegment& segment) {
        EXPECT_EQ(segment.startNs, at);
        EXPECT_GT(segment.endNs, segment.startNs);
        at = segment.endNs;
        ledger.add(segment.cause, segment.durNs());
        if (!segment.unrecorded) return;
        EXPECT_EQ(segment.cause, Cause::Unknown);
        unrecordedNs += segment.durNs();
      });
      EXPECT_EQ(at, window.endNs);
      EXPECT_EQ(ledger.totalNs(), window.endNs - window.startNs);
      const auto busy = busyByDefinition(all, scope, window);
      for (const Work work : {Work::Compute, Work::Communication, Work::Copy})
        EXPECT_EQ(ledger.ns[static_cast<std::size_t>(work)], busy[static_cast<std::size_t>(work)]);
      EXPECT_EQ(unrecordedNs, busy[static_cast<std::size_t>(Work::Unrecorded)]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTimelines, testing::Range(1, 11));

}  // namespace
}  // namespace lacuna::analyzer
