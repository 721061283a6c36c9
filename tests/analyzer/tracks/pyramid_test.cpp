// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/pyramid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "lacuna/analyzer/lanes.h"
#include "support/sanitizer.h"
#include "tracks/byte_stream.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::TimeNs;

struct Event {
  TimeNs start, dur;
  std::uint32_t name;
};

/// Draws events whose lengths and gaps mix several orders of magnitude, with bursts, instants and
/// giants.
std::vector<Event> randomEvents(std::mt19937_64& random, std::size_t count) {
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<Event> events;
  TimeNs t = static_cast<TimeNs>(unit(random) * 1e12);
  const double decades = 1 + unit(random) * 6;
  const double fill = unit(random);
  bool burst = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (unit(random) < 0.01) burst = !burst;
    const double scale = std::pow(10, unit(random) * (burst ? 1 : decades));
    const TimeNs dur = unit(random) < 0.02 ? 0 : static_cast<TimeNs>(scale * fill);
    const double gap =
        unit(random) < 0.3 ? 0 : std::pow(10, unit(random) * (burst ? 1 : decades)) * (1 - fill);
    t += static_cast<TimeNs>(gap);
    events.push_back({t, dur, static_cast<std::uint32_t>(1 + i % 17)});
    t += dur;
  }
  return events;
}

Lane laneOf(const std::vector<Event>& events) {
  Lane lane;
  for (const Event& e : events) lane.add(e.start, e.dur, StringId(e.name));
  lane.finish();
  return lane;
}

/// The cell of every pixel, from a walk over all events and nothing else.
std::vector<Cell> linear(const std::vector<Event>& events, const PixelGrid& grid) {
  std::vector<Cell> cells(static_cast<std::size_t>(grid.width));
  for (const Event& e : events) {
    const auto start = static_cast<double>(e.start - grid.startNs);
    const double end = start + static_cast<double>(e.dur);
    const double first = std::floor(start / grid.nsPerPixel);
    const double last = std::floor(end / grid.nsPerPixel);
    for (double x = std::max(0.0, first); x <= std::min(grid.width - 1.0, last); ++x) {
      const double overlap =
          std::min(end, (x + 1) * grid.nsPerPixel) - std::max(start, x * grid.nsPerPixel);
      const bool instant = e.dur == 0 && x == first;
      if (overlap <= 0 && !instant) continue;
      Cell& cell = cells[static_cast<std::size_t>(x)];
      cell.busy += static_cast<float>(std::max(overlap, 0.0) / grid.nsPerPixel);
      cell.count += 1;
      cell.longestNs = std::max(cell.longestNs, static_cast<float>(e.dur));
    }
  }
  return cells;
}

TEST(Pyramid, EqualsALinearScanOnRandomDataAtEveryZoom) {
  std::mt19937_64 random(20);
  std::uniform_real_distribution<double> unit(0, 1);
  double worst = 0;
  for (int round = 0; round < 150; ++round) {
    const auto events = randomEvents(random, 1 + random() % 6000);
    const Lane lane = laneOf(events);
    const TimeNs first = events.front().start;
    const auto span = static_cast<double>(events.back().start + events.back().dur - first + 1);
    for (int zoom = 0; zoom < 12; ++zoom) {
      const int width = 50 + static_cast<int>(random() % 500);
      const double shown = span * std::pow(10, 0.3 - unit(random) * 5);
      const PixelGrid grid{first + static_cast<TimeNs>((span - shown) * unit(random)),
                           shown / width, width};
      std::vector<Cell> cells(static_cast<std::size_t>(width));
      lane.query(grid, cells);
      const auto expected = linear(events, grid);
      for (std::size_t x = 0; x < cells.size(); ++x) {
        ASSERT_TRUE(expected[x].count == 0 || cells[x].occupied())
            << "blank pixel " << x << " in round " << round;
        worst = std::max(worst, std::abs(static_cast<double>(cells[x].busy) - expected[x].busy));
      }
    }
  }
  EXPECT_LE(worst, 0.06);
  RecordProperty("worst_busy_error", std::to_string(worst));
}

/// True when an event touches the pixel or comes as close to it.
bool touches(const std::vector<Event>& events, const PixelGrid& grid, std::size_t x,
             double marginNs) {
  const double from = static_cast<double>(x) * grid.nsPerPixel - marginNs;
  const double to = static_cast<double>(x + 1) * grid.nsPerPixel + marginNs;
  return std::ranges::any_of(events, [&](const Event& e) {
    const auto start = static_cast<double>(e.start - grid.startNs);
    return start <= to && start + static_cast<double>(e.dur) >= from;
  });
}

TEST(Pyramid, ShowsWhichPixelsAreTouchedWithinATenthOfOneWhereBucketsAreSplitAtTheirEdges) {
  std::mt19937_64 random(21);
  std::uint64_t blank = 0;
  double total = 0;
  std::size_t pixels = 0;
  for (int round = 0; round < 60; ++round) {
    const auto events = randomEvents(random, 800 + random() % 3000);
    const Lane lane = laneOf(events);
    const TimeNs first = events.front().start;
    // Eight to sixteen events a bucket: from 0.8 buckets a pixel to 7.5, all split at edges.
    const double npp = 8.0 * static_cast<double>(lane.endNs(lane.size() - 1) - first) /
                       static_cast<double>(events.size()) * (1.6 + 0.1 * round);
    const PixelGrid grid{first - 100, npp, 300};
    std::vector<Cell> cells(300);
    lane.query(grid, cells);
    const auto expected = linear(events, grid);
    for (std::size_t x = 0; x < cells.size(); ++x) {
      if (cells[x].occupied() != (expected[x].count > 0)) {
        ASSERT_TRUE(cells[x].occupied()) << "pixel " << x << " in round " << round;
        ASSERT_TRUE(touches(events, grid, x, npp / 10)) << "pixel " << x << " in round " << round;
      }
      ASSERT_NEAR(cells[x].busy, expected[x].busy, 0.06) << "pixel " << x << " in round " << round;
      total += std::abs(static_cast<double>(cells[x].busy) - expected[x].busy);
      ++pixels;
      blank += cells[x].occupied() ? 0 : 1;
    }
  }
  EXPECT_GT(blank, 0U);
  EXPECT_LT(total / static_cast<double>(pixels), 0.005);
}

TEST(Pyramid, GivesALongEventToThePixelsThatItTouchesWhereBucketsAreSplit) {
  // Short events but for one that fills pixels 40 to 59 and begins in the middle of a bucket.
  std::vector<Event> events;
  constexpr TimeNs kPixel = 1600;
  for (TimeNs i = 0; i < 100 * kPixel / 100; ++i) {
    const TimeNs start = i * 100;
    if (start < 40 * kPixel || start >= 60 * kPixel) events.push_back({start, 60, 6});
    if (start == 40 * kPixel) events.push_back({start, 20 * kPixel, 5});
  }
  const Lane lane = laneOf(events);
  std::vector<Cell> cells(100);
  lane.query({0, kPixel, 100}, cells);
  for (std::size_t x = 0; x < cells.size(); ++x) {
    const bool inside = x >= 40 && x < 60;
    EXPECT_EQ(cells[x].longestNs >= kPixel, inside) << x;
    EXPECT_EQ(cells[x].name, StringId(inside ? 5 : 6)) << x;
  }
}

TEST(Pyramid, LeavesPixelsFarFromEveryEventEmpty) {
  const Lane lane = laneOf({{0, 10, 1}, {900'000, 10, 2}});
  std::vector<Cell> cells(100);
  lane.query({0, 10'000, 100}, cells);
  for (std::size_t x = 0; x < 100; ++x) EXPECT_EQ(cells[x].occupied(), x == 0 || x == 90) << x;
}

TEST(Pyramid, NamesThePixelAfterItsLongestEvent) {
  std::vector<Event> events;
  for (TimeNs i = 0; i < 10'000; ++i)
    events.push_back({i * 100, i % 50 == 7 ? 90 : 20, i % 50 == 7 ? 5u : 6u});
  const Lane lane = laneOf(events);
  std::vector<Cell> cells(20);
  lane.query({0, 50'000, 20}, cells);
  for (const Cell& cell : cells) {
    EXPECT_EQ(cell.name, StringId(5));
    EXPECT_NEAR(cell.longestNs, 90, 90.0 / 8);
  }
}

TEST(Pyramid, CountsTheEventsOfAPixelThatIsAskedForAlone) {
  std::vector<Event> events;
  for (TimeNs i = 0; i < 10'000; ++i) events.push_back({i * 100, 60, 1});
  const Lane lane = laneOf(events);
  for (const TimeNs width : {400, 3'000, 50'000, 400'000}) {
    Cell cell;
    lane.query({200'000, static_cast<double>(width), 1}, {&cell, 1});
    EXPECT_NEAR(cell.count, static_cast<double>(width) / 100, static_cast<double>(width) / 500)
        << width;
  }
}

TEST(Pyramid, FindsTheEventAtAMoment) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 30; ++round) {
    const auto events = randomEvents(random, 2000);
    const Lane lane = laneOf(events);
    for (int probe = 0; probe < 200; ++probe) {
      const Event& e = events[random() % events.size()];
      if (e.dur == 0) continue;
      const TimeNs t = e.start + static_cast<TimeNs>(random() % static_cast<std::uint64_t>(e.dur));
      const std::size_t i = lane.at(t);
      ASSERT_NE(i, Lane::kNone);
      EXPECT_TRUE(lane.startNs(i) <= t && (t < lane.endNs(i) || lane.durNs(i) == 0));
    }
    EXPECT_EQ(lane.at(events.front().start - 1), Lane::kNone);
    EXPECT_EQ(lane.at(events.back().start + events.back().dur + 1), Lane::kNone);
  }
}

TEST(Pyramid, KeepsLengthsThatThirtyTwoBitsDoNotHold) {
  const Lane lane = laneOf({{0, 10, 1}, {20, 8'000'000'000, 2}, {9'000'000'000, 5'000'000'000, 3}});
  EXPECT_EQ(lane.durNs(0), 10);
  EXPECT_EQ(lane.durNs(1), 8'000'000'000);
  EXPECT_EQ(lane.endNs(2), 14'000'000'000);
}

TEST(Pyramid, AnEmptyLaneShowsNothing) {
  const Lane lane = laneOf({});
  std::vector<Cell> cells(10);
  lane.query({0, 1, 10}, cells);
  EXPECT_FALSE(cells[3].occupied());
  EXPECT_EQ(lane.at(5), Lane::kNone);
}

TEST(CounterLane, ExtremesAreExactAtEveryZoom) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < (test::kThreadSanitized ? 6 : 60); ++round) {
    CounterLane lane;
    std::vector<std::pair<TimeNs, double>> samples;
    TimeNs t = 1000;
    for (std::size_t i = 0, n = 1 + random() % 5000; i < n; ++i) {
      t += static_cast<TimeNs>(std::pow(10, unit(random) * 4));
      samples.emplace_back(t, unit(random) < 0.01 ? 1e9 * unit(random) : unit(random) - 0.5);
      lane.add(t, samples.back().second);
    }
    lane.finish();
    for (int zoom = 0; zoom < 8; ++zoom) {
      const int width = 200;
      const auto npp = std::max<TimeNs>(
          1, static_cast<TimeNs>(static_cast<double>(t) * std::pow(10, -unit(random) * 4) / width));
      const PixelGrid grid{static_cast<TimeNs>(unit(random) * static_cast<double>(t)),
                           static_cast<double>(npp), width};
      std::vector<CounterCell> cells(width);
      lane.query(grid, cells);
      for (int x = 0; x < width; ++x) {
        const TimeNs from = grid.startNs + x * npp;
        CounterCell expected;
        for (const auto& [time, value] : samples) {
          if (time >= from + npp) break;
          if (!expected.known || time <= from) expected = {value, value, value, true};
          expected = {std::min(expected.low, value), std::max(expected.high, value), value, true};
        }
        const CounterCell& got = cells[static_cast<std::size_t>(x)];
        ASSERT_EQ(got.known, expected.known);
        if (!got.known) continue;
        ASSERT_EQ(got.low, expected.low);
        ASSERT_EQ(got.high, expected.high);
        ASSERT_EQ(got.last, expected.last);
      }
    }
  }
}

/// The head of a lane as a file has it, of so many events in so many chunks, with one bucket.
ByteOutput laneHead(std::uint64_t events, std::uint32_t shift, std::uint32_t chunks,
                    TimeNs startNs = 5) {
  ByteOutput out;
  out.put(events);
  for (const std::uint32_t value : {shift, 1U, chunks, 1U}) out.put(value);
  for (std::uint32_t i = 0; i < chunks; ++i) out.put(startNs);
  out.put(std::uint32_t{0});
  out.put(std::uint64_t{0});
  for (const std::uint32_t value : {1U, 7U}) out.put(value);
  for (int i = 0; i < 3; ++i) out.put(std::uint8_t{1});
  return out;
}

TEST(LaneFile, BucketsThatContradictThemselvesAreDrawnFromThoseThereAre) {
  ByteOutput head;
  head.put(std::uint64_t{1});
  for (const std::uint32_t value : {0U, 1U, 1U, 3U}) head.put(value);
  head.put(TimeNs{5});
  for (int i = 0; i < 3; ++i) head.put(std::uint32_t{0});
  for (int i = 0; i < 3; ++i) head.put(std::uint64_t{0});
  for (const std::uint32_t value : {3U, 7U, 8U, 9U}) head.put(value);
  // The last bucket has the longest event, and nothing in it.
  for (const int value : {1, 5, 0, 1, 0, 9, 1, 1, 1}) head.put(static_cast<std::uint8_t>(value));
  ByteInput in(head.bytes());
  Lane lane;
  ASSERT_TRUE(lane.read(in, {64}, [](std::size_t, std::span<std::byte>) { return false; }));
  std::vector<Cell> cells(2);
  lane.query({5, 1e6, 2}, cells);
  EXPECT_EQ(cells[0].name, StringId(9));
  EXPECT_FALSE(cells[1].occupied());
}

TEST(LaneFile, AHeadThatMakesNoSenseIsRefused) {
  const auto isRead = [](std::uint64_t events, std::uint32_t shift, std::uint32_t chunks) {
    const ByteOutput head = laneHead(events, shift, chunks);
    ByteInput in(head.bytes());
    Lane lane;
    return lane.read(in, std::vector<std::uint32_t>(chunks, 64),
                     [](std::size_t, std::span<std::byte>) { return false; });
  };
  EXPECT_TRUE(isRead(1, 3, 1));
  EXPECT_FALSE(isRead(UINT64_MAX, 3, 0)) << "more events than can be counted in chunks";
  EXPECT_FALSE(isRead(1, UINT32_MAX, 1)) << "a bucket of less than no time";
  EXPECT_FALSE(isRead(0, 3, 0));
}

TEST(LaneFile, ATimeThatNoDifferenceCanBeTakenOfIsRefused) {
  const auto isRead = [](TimeNs startNs) {
    const ByteOutput head = laneHead(1, 3, 1, startNs);
    ByteInput in(head.bytes());
    Lane lane;
    return lane.read(in, {64}, [](std::size_t, std::span<std::byte>) { return false; });
  };
  EXPECT_TRUE(isRead(-1'000'000));
  EXPECT_FALSE(isRead(INT64_MIN));
  EXPECT_FALSE(isRead(INT64_MAX));
}

}  // namespace
}  // namespace lacuna::analyzer
