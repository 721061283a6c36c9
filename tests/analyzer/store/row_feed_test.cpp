// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/row_feed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "store/each_row.h"
#include "store/lcn_writer.h"
#include "store/watched_store.h"
#include "support/random_store.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using prof::Mark, prof::Range, prof::TimeNs;

/// Ranges at 0, 2, 4 … and marks at 1, 4, 7 …, with their numbers as names of threads.
std::shared_ptr<const Store> rangesAndMarks(std::uint32_t ranges, std::uint32_t marks) {
  StoreBuilder trace;
  for (std::uint32_t i = 0; i < ranges; ++i)
    trace.append(Range{.startNs = 2 * TimeNs{i}, .durNs = 1, .thread = prof::ThreadId(i)});
  for (std::uint32_t i = 0; i < marks; ++i)
    trace.append(Mark{.timeNs = 3 * TimeNs{i} + 1, .thread = prof::ThreadId(i)});
  return trace.build();
}

/// The same store in a file of blocks of 64 rows.
std::shared_ptr<const Store> inSmallBlocks(const Store& store, const test::TempDir& folder) {
  LcnWriteOptions options;
  options.blockRows = 64;
  options.zstdLevel = 1;
  EXPECT_TRUE(writeLcn(store, folder / "small.lcn", options));
  return *Store::open(folder / "small.lcn");
}

TEST(RowFeed, GivesEveryRowOnceAndInOrder) {
  const test::TempDir folder;
  const auto memory = rangesAndMarks(1000, 0);
  for (const auto& store : {memory, inSmallBlocks(*memory, folder)}) {
    RowFeed<&Range::startNs, &Range::thread> feed(*store);
    std::uint64_t row = 0;
    for (; feed.valid(); feed.step(), ++row) {
      ASSERT_EQ(feed.row(), row);
      ASSERT_EQ(feed.get<0>(), static_cast<TimeNs>(2 * row));
      ASSERT_EQ(feed.get<1>(), prof::ThreadId(static_cast<std::uint32_t>(row)));
    }
    EXPECT_EQ(row, 1000U);
    EXPECT_FALSE(feed.valid()) << "an end is for good";
    EXPECT_TRUE(feed.status());
  }
}

TEST(RowFeed, ATableWithoutRowsIsAtItsEnd) {
  const auto store = rangesAndMarks(0, 1);
  RowFeed<&Range::startNs> feed(*store);
  EXPECT_FALSE(feed.valid());
  EXPECT_TRUE(feed.status());
}

TEST(RowFeed, TwoTablesAreWalkedSideBySide) {
  const test::TempDir folder;
  const auto memory = rangesAndMarks(900, 700);
  const auto store = inSmallBlocks(*memory, folder);
  RowFeed<&Range::startNs> ranges(*store);
  RowFeed<&Mark::timeNs> marks(*store);
  std::uint64_t rows = 0;
  TimeNs last = -1;
  while (ranges.valid() || marks.valid()) {
    const bool takesRange = ranges.valid() && (!marks.valid() || ranges.get<0>() <= marks.get<0>());
    const TimeNs now = takesRange ? ranges.get<0>() : marks.get<0>();
    ASSERT_LE(last, now);
    last = now;
    ++rows;
    takesRange ? ranges.step() : marks.step();
  }
  EXPECT_EQ(rows, 1600U);
}

TEST(RowFeed, AWindowLeavesOutBlocksAndKeepsRowNumbers) {
  const test::TempDir folder;
  const auto store = inSmallBlocks(*rangesAndMarks(1000, 0), folder);
  RowFeed<&Range::startNs> feed(*store, {1000, 1010});
  std::vector<TimeNs> inside;
  std::uint64_t rows = 0;
  for (; feed.valid(); feed.step(), ++rows) {
    ASSERT_EQ(feed.get<0>(), static_cast<TimeNs>(2 * feed.row()));
    if (feed.get<0>() >= 1000 && feed.get<0>() < 1010) inside.push_back(feed.get<0>());
  }
  EXPECT_EQ(inside, (std::vector<TimeNs>{1000, 1002, 1004, 1006, 1008}));
  EXPECT_LE(rows, 128U) << "two blocks at most";
}

TEST(RowFeed, CanBeLeftBeforeItsEnd) {
  const test::TempDir folder;
  const auto store = inSmallBlocks(*rangesAndMarks(2000, 0), folder);
  for (int steps = 0; steps < 200; steps += 50) {
    RowFeed<&Range::startNs> feed(*store);
    for (int i = 0; i < steps && feed.valid(); ++i) feed.step();
  }
}

TEST(RowFeed, AnErrorIsKnownAtTheEnd) {
  const test::TempDir folder;
  const auto inner = inSmallBlocks(*rangesAndMarks(1000, 0), folder);
  const auto store = watchScans(inner, [](double share) { return share < 0.5; });
  RowFeed<&Range::startNs> feed(*store);
  std::uint64_t rows = 0;
  for (; feed.valid(); feed.step()) ++rows;
  EXPECT_EQ(rows, 512U) << "the blocks that begin before the middle";
  ASSERT_FALSE(feed.status());
  EXPECT_EQ(feed.status().error().message, "cancelled");
}

TEST(EachRow, EveryRowOfEveryTableIsTheOneOfItsNumber) {
  const test::TempDir folder;
  const auto memory = test::randomStore(3, 300);
  for (const auto& store : {memory, inSmallBlocks(*memory, folder)}) {
    prof::forEachTable([&]<class Row>() {
      std::uint64_t next = 0;
      EXPECT_TRUE(eachRow<Row>(
          *store, [&](const Row& row) { ASSERT_EQ(row, store->row<Row>(next++)) << Row::kName; }));
      EXPECT_EQ(next, store->rows<Row>()) << Row::kName;
    });
  }
}

TEST(EachRow, StopsWhenItsVisitorHasSeenEnough) {
  const test::TempDir folder;
  const auto memory = rangesAndMarks(500, 0);
  for (const auto& store : {memory, inSmallBlocks(*memory, folder)}) {
    std::vector<std::uint32_t> seen;
    EXPECT_TRUE(eachRow<Range>(*store, [&](const Range& row) {
      seen.push_back(row.thread.value);
      return seen.size() < 3;
    }));
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2}));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
