// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/table_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "store/lcn_table.h"

namespace lacuna::analyzer {
namespace {

using Times = std::vector<prof::TimeNs>;

/// The definition, by the library's stable sort.
RowOrder orderByDefinition(const Times& times, const Times* lengths) {
  RowOrder order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (times[a] != times[b]) return times[a] < times[b];
    return lengths != nullptr && (*lengths)[a] > (*lengths)[b];
  });
  return order;
}

/// An empty order stands for the rows as they are.
RowOrder written(RowOrder order, std::size_t rows) {
  if (!order.empty()) return order;
  order.resize(rows);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

TEST(TimeOrder, IsEmptyForRowsThatAreInOrder) {
  const Times longerFirst{9, 2, 2, 1};
  EXPECT_TRUE(timeOrder({}, nullptr).empty());
  EXPECT_TRUE(timeOrder({5}, nullptr).empty());
  EXPECT_TRUE(timeOrder({-3, 0, 0, 7}, nullptr).empty());
  EXPECT_TRUE(timeOrder({5, 5, 5, 5}, &longerFirst).empty());
}

TEST(TimeOrder, TheLongerIsFirstAmongEqualStartsAndThenTheEarlierRow) {
  const Times starts{4, 1, 1, 1, 1};
  const Times lengths{0, 5, 9, 5, 9};
  EXPECT_EQ(timeOrder(starts, &lengths), (RowOrder{2, 4, 1, 3, 0}));
  EXPECT_EQ(timeOrder(starts, nullptr), (RowOrder{1, 2, 3, 4, 0}));
  const Times two{1, 2};
  EXPECT_EQ(timeOrder({7, 7}, &two), (RowOrder{1, 0})) << "starts alone are in order";
}

TEST(TimeOrder, HoldsAtTheEndsOfTime) {
  const Times starts{INT64_MAX, 0, INT64_MIN, -1};
  EXPECT_EQ(timeOrder(starts, nullptr), (RowOrder{2, 3, 1, 0}));
}

/// Few streams are merged and many are sorted; both must be the same order.
TEST(TimeOrder, AnyNumberOfStreamsIsOrderedAsDefined) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Times starts, lengths;
    const std::size_t streams = 1 + random() % (round % 2 == 0 ? 6 : 40);
    for (std::size_t stream = 0; stream < streams; ++stream) {
      prof::TimeNs now = static_cast<prof::TimeNs>(random() % 50) - 25;
      for (std::uint32_t rows = random() % 60; rows > 0; --rows) {
        starts.push_back(now += random() % 3);
        lengths.push_back(random() % 3);
      }
    }
    ASSERT_EQ(written(timeOrder(starts, &lengths), starts.size()),
              orderByDefinition(starts, &lengths))
        << round;
    ASSERT_EQ(written(timeOrder(starts, nullptr), starts.size()),
              orderByDefinition(starts, nullptr))
        << round;
  }
}

TEST(TableSort, RowsStayComplete) {
  prof::Range::Columns ranges;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto start = static_cast<prof::TimeNs>((i * 37) % 100);
    ranges.push({.startNs = start,
                 .durNs = 2 * start,
                 .depth = static_cast<std::uint16_t>(start),
                 .flags = static_cast<std::uint8_t>(start),
                 .correlation = static_cast<std::uint64_t>(start)});
  }
  sortByTime<prof::Range>(ranges);
  for (std::size_t i = 0; i < 100; ++i) {
    const prof::Range row = ranges.row(i);
    ASSERT_EQ(row.startNs, static_cast<prof::TimeNs>(i));
    ASSERT_TRUE(row.durNs == 2 * row.startNs && row.depth == i && row.flags == i &&
                row.correlation == i)
        << i;
  }
}

TEST(TableSort, ATableWithoutTimeStaysAsItIs) {
  prof::Environment::Columns facts;
  for (const std::uint32_t key : {5U, 3U, 4U})
    facts.push({.process = {}, .key = prof::StringId(key), .value = {}});
  sortByTime<prof::Environment>(facts);
  EXPECT_EQ(facts.key, (std::vector{prof::StringId(5), prof::StringId(3), prof::StringId(4)}));
}

TEST(TableSort, AnEndIsNoLength) {
  prof::Process::Columns processes;
  processes.push({.id = prof::ProcessId(1), .startNs = 4, .endNs = 5});
  processes.push({.id = prof::ProcessId(2), .startNs = 4, .endNs = 9});
  sortByTime<prof::Process>(processes);
  EXPECT_EQ(processes.id[0], prof::ProcessId(1)) << "rows of one start stay as they are";
}

TEST(TableSort, BytesAreBroughtIntoTheSameOrderWhateverTheirWidth) {
  const RowOrder order{2, 0, 1};
  for (const std::size_t width : {1U, 2U, 4U, 8U}) {
    LcnBytes values, expected;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        values.push_back(static_cast<std::byte>(16 * row + i));
        expected.push_back(static_cast<std::byte>(16 * order[row] + i));
      }
    }
    LcnBytes same = values;
    permuteRows(values, width, order);
    EXPECT_EQ(values, expected) << width;
    const LcnBytes before = same;
    permuteRows(same, width, {});
    EXPECT_EQ(same, before) << width;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
