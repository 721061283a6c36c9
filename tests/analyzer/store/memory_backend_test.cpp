// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/memory_backend.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::Mark, prof::Range, prof::TimeNs, prof::TimeWindow;

using Bounds = std::vector<std::pair<TimeNs, TimeNs>>;

/// The bounds of a table's blocks; the columns are in the order that the store demands.
template <class Row>
Bounds boundsOf(const typename Row::Columns& columns) {
  MemoryTable table;
  std::size_t at = 0;
  columns.forEach([&](const auto& values) {
    table.rows = values.size();
    table.columns.push_back({reinterpret_cast<const std::byte*>(values.data()), values.size(),
                             prof::tableSpec<Row>().columns[at++].type});
  });
  Bounds out;
  for (const TimeWindow& window : blockBounds(prof::tableSpec<Row>(), table))
    out.emplace_back(window.startNs, window.endNs);
  return out;
}

Bounds boundsOfRanges(const std::vector<std::pair<TimeNs, TimeNs>>& startsAndLengths) {
  Range::Columns ranges;
  for (const auto& [start, length] : startsAndLengths)
    ranges.push({.startNs = start, .durNs = length});
  return boundsOf<Range>(ranges);
}

TEST(BlockBounds, ReachFromTheFirstStartToTheLastEnd) {
  EXPECT_EQ(boundsOfRanges({}), Bounds{});
  EXPECT_EQ(boundsOfRanges({{0, 100}, {10, 5}, {20, 80}}), (Bounds{{0, 100}}));
  EXPECT_EQ(boundsOfRanges({{-9, 1}, {3, 4}}), (Bounds{{-9, 7}}));
  EXPECT_EQ(boundsOfRanges({{7, 0}}), (Bounds{{7, 8}})) << "an end is exclusive";
}

TEST(BlockBounds, EndWhereTimeDoes) {
  EXPECT_EQ(boundsOfRanges({{INT64_MAX - 3, 2}}), (Bounds{{INT64_MAX - 3, INT64_MAX - 1}}));
  EXPECT_EQ(boundsOfRanges({{INT64_MAX - 3, 4}}), (Bounds{{INT64_MAX - 3, INT64_MAX}}));
  EXPECT_EQ(boundsOfRanges({{INT64_MAX, 0}}), (Bounds{{INT64_MAX, INT64_MAX}}));
}

TEST(BlockBounds, MomentsTakeANanosecondAndRowsWithoutTimeTakeAll) {
  Mark::Columns marks;
  marks.push({.timeNs = 5});
  marks.push({.timeNs = 9});
  EXPECT_EQ(boundsOf<Mark>(marks), (Bounds{{5, 10}}));
  prof::Environment::Columns facts;
  facts.push({});
  EXPECT_EQ(boundsOf<prof::Environment>(facts), (Bounds{{INT64_MIN, INT64_MAX}}));
}

TEST(BlockBounds, EachBlockHasItsOwn) {
  Mark::Columns marks;
  const auto rows = static_cast<TimeNs>(2 * kScanRows + 1);
  for (TimeNs i = 0; i < rows; ++i) marks.push({.timeNs = 10 * i});
  const auto first = static_cast<TimeNs>(kScanRows);
  EXPECT_EQ(boundsOf<Mark>(marks), (Bounds{{0, 10 * (first - 1) + 1},
                                           {10 * first, 10 * (2 * first - 1) + 1},
                                           {20 * first, 20 * first + 1}}));
}

/// Three blocks of ranges of one nanosecond, a thousand apart, and a long one at the very
/// beginning.
class MemoryScan : public testing::Test {
 protected:
  static constexpr auto kBlock = static_cast<TimeNs>(kScanRows);

  MemoryScan() {
    StoreBuilder trace;
    Range::Columns& ranges = trace.columns<Range>();
    for (TimeNs i = 0; i < 3 * kBlock - 5; ++i)
      ranges.push({.startNs = 1000 * i, .durNs = i == 0 ? 1000 * kBlock + 500 : 1, .depth = 3});
    store_ = trace.build();
  }
  /// First row and number of rows of each block that a scan visits.
  [[nodiscard]] std::vector<std::pair<TimeNs, TimeNs>> blocks(TimeWindow window) const {
    std::vector<std::pair<TimeNs, TimeNs>> out;
    EXPECT_TRUE(store_->scan<&Range::startNs>(window, [&](std::uint64_t first, auto starts) {
      EXPECT_EQ(starts[0], static_cast<TimeNs>(1000 * first));
      out.emplace_back(first, starts.size());
    }));
    return out;
  }

  std::shared_ptr<const Store> store_;
};

TEST_F(MemoryScan, VisitsTheBlocksThatTouchTheWindow) {
  const std::pair<TimeNs, TimeNs> first{0, kBlock}, second{kBlock, kBlock},
      third{2 * kBlock, kBlock - 5};
  using Visited = std::vector<std::pair<TimeNs, TimeNs>>;
  EXPECT_EQ(blocks({}), (Visited{first, second, third}));
  EXPECT_EQ(blocks({INT64_MIN, 0}), Visited{});
  EXPECT_EQ(blocks({INT64_MIN, 1}), Visited{first});
  EXPECT_EQ(blocks({1000 * kBlock - 999, 1000 * kBlock}), Visited{first})
      << "a window's end is outside";
  EXPECT_EQ(blocks({1000 * kBlock - 999, 1000 * kBlock + 1}), (Visited{first, second}));
  EXPECT_EQ(blocks({1000 * kBlock + 499, 1000 * kBlock + 600}), (Visited{first, second}))
      << "the long row reaches in";
  EXPECT_EQ(blocks({1000 * kBlock + 501, 1000 * kBlock + 600}), Visited{second});
  EXPECT_EQ(blocks({2000 * kBlock, INT64_MAX}), Visited{third});
  EXPECT_EQ(blocks({3000 * kBlock, INT64_MAX}), Visited{});
}

TEST_F(MemoryScan, ColumnsComeInTheOrderAskedFor) {
  const std::size_t columns[] = {prof::columnIndex<&Range::depth>(),
                                 prof::columnIndex<&Range::startNs>()};
  std::uint64_t rows = 0;
  EXPECT_TRUE(store_->scanTable(tableIndex<Range>(), columns, {}, [&](const RowBlock& block) {
    rows += block.rows;
    EXPECT_EQ(block.columns.size(), 2U);
    EXPECT_EQ(reinterpret_cast<const std::uint16_t*>(block.columns[0])[block.rows - 1], 3);
    EXPECT_EQ(reinterpret_cast<const TimeNs*>(block.columns[1])[1],
              static_cast<TimeNs>(1000 * (block.firstRow + 1)));
    return true;
  }));
  EXPECT_EQ(rows, store_->rows<Range>());
}

TEST_F(MemoryScan, OneRowIsReadWhereverItIs) {
  for (const TimeNs row : {TimeNs{0}, kBlock - 1, kBlock, 3 * kBlock - 6}) {
    EXPECT_EQ(store_->row<Range>(static_cast<std::uint64_t>(row)).startNs, 1000 * row);
    EXPECT_EQ(store_->row<Range>(static_cast<std::uint64_t>(row)).depth, 3);
  }
}

TEST(MemorySpan, IsThatOfEventsAlone) {
  StoreBuilder trace;
  trace.append(prof::Process{.id = prof::ProcessId(1), .startNs = -500, .endNs = 900});
  trace.append(prof::Thread{.id = prof::ThreadId(1), .startNs = -400, .endNs = 800});
  trace.append(prof::Clock{.timeNs = 700});
  const auto nothing = trace.build();
  EXPECT_EQ(nothing->span().startNs, 0);
  EXPECT_EQ(nothing->span().endNs, 0);
  trace.append(prof::Clock{.timeNs = 700});
  trace.append(Mark{.timeNs = -20});
  trace.append(prof::CounterSample{.timeNs = 30});
  trace.append(Range{.startNs = -10, .durNs = 15});
  const auto some = trace.build();
  EXPECT_EQ(some->span().startNs, -20);
  EXPECT_EQ(some->span().endNs, 31);
}

}  // namespace
}  // namespace lacuna::analyzer
