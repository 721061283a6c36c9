// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::kFarthestNs, prof::kMostMemoryBytes, prof::TimeNs;

TEST(StoreBuilder, MomentsAndLengthsAreBroughtBackToTheirBounds) {
  const struct {
    TimeNs start, length, keptStart, keptLength;
  } cases[] = {
      {0, 0, 0, 0},
      {kFarthestNs, kFarthestNs, kFarthestNs, kFarthestNs},
      {-kFarthestNs, 1, -kFarthestNs, 1},
      {kFarthestNs + 1, kFarthestNs + 1, kFarthestNs, kFarthestNs},
      {-kFarthestNs - 1, -1, -kFarthestNs, 0},
      {INT64_MAX, INT64_MAX, kFarthestNs, kFarthestNs},
      {INT64_MIN, INT64_MIN, -kFarthestNs, 0},
  };
  for (const auto& [start, length, keptStart, keptLength] : cases) {
    StoreBuilder trace;
    trace.append(prof::Range{.startNs = start, .durNs = length});
    const auto row = trace.build()->row<prof::Range>(0);
    EXPECT_EQ(row.startNs, keptStart) << start;
    EXPECT_EQ(row.durNs, keptLength) << length;
  }
}

TEST(StoreBuilder, SizesAreBroughtBackAndOtherNumbersAreLeftAlone) {
  StoreBuilder trace;
  trace.append(
      prof::Memcpy{.startNs = 0, .correlation = UINT64_MAX, .bytes = kMostMemoryBytes + 1});
  trace.append(prof::Memcpy{.startNs = 1, .bytes = kMostMemoryBytes, .graphNodeId = UINT64_MAX});
  trace.append(prof::Allocation{.address = UINT64_MAX, .bytes = UINT64_MAX});
  trace.append(prof::CounterSample{.timeNs = 1, .value = 1e300});
  trace.append(prof::Device{.memoryBytes = UINT64_MAX, .memoryBandwidth = UINT64_MAX});
  const auto store = trace.build();
  EXPECT_EQ(store->row<prof::Memcpy>(0).bytes, kMostMemoryBytes);
  EXPECT_EQ(store->row<prof::Memcpy>(0).correlation, UINT64_MAX);
  EXPECT_EQ(store->row<prof::Memcpy>(1).bytes, kMostMemoryBytes);
  EXPECT_EQ(store->row<prof::Memcpy>(1).graphNodeId, UINT64_MAX);
  EXPECT_EQ(store->row<prof::Allocation>(0).bytes, kMostMemoryBytes);
  EXPECT_EQ(store->row<prof::Allocation>(0).address, UINT64_MAX);
  EXPECT_EQ(store->row<prof::CounterSample>(0).value, 1e300);
  EXPECT_EQ(store->row<prof::Device>(0).memoryBytes, kMostMemoryBytes);
  EXPECT_EQ(store->row<prof::Device>(0).memoryBandwidth, UINT64_MAX);
}

TEST(StoreBuilder, LongTextsAreCutWhereTheyAreShownAndCounted) {
  const std::string longest(prof::kLongestText, 'n');
  StoreBuilder trace;
  const prof::StringId atBound = trace.intern(longest);
  const prof::StringId beyond = trace.intern("x" + longest);
  EXPECT_EQ(trace.intern("x" + longest), beyond);
  const auto store = trace.build();
  EXPECT_EQ(store->text(atBound), longest);
  EXPECT_EQ(store->text(beyond), "x" + longest.substr(1));
  EXPECT_EQ(store->wholeText(beyond), "x" + longest);
  EXPECT_EQ(store->find("x" + longest), beyond);
  EXPECT_EQ(store->warnings(),
            std::vector<std::string>{"texts cut to 65,536 bytes where they are shown: 1"});
}

TEST(StoreBuilder, ATextIsCutBetweenTwoCharacters) {
  for (const std::string_view character : {"\u00e9", "\u20ac", "\U0001f40c"}) {
    for (std::size_t before = 1; before <= character.size(); ++before) {
      std::string text(prof::kLongestText - before, 'n');
      text += character;
      text += "more";
      const std::size_t kept =
          before == character.size() ? prof::kLongestText : prof::kLongestText - before;
      EXPECT_EQ(prof::boundText(text), std::string_view(text).substr(0, kept))
          << character << ' ' << before;
    }
  }
}

TEST(StoreBuilder, ValuesBeyondTheirBoundsAreCountedInOneWarning) {
  StoreBuilder trace;
  trace.addWarning("one event of the file is no event");
  trace.append(prof::Range{.startNs = INT64_MAX, .durNs = -1});  // two
  trace.append(prof::Range{.startNs = kFarthestNs, .durNs = kFarthestNs});
  trace.append(prof::Process{.startNs = INT64_MIN, .endNs = INT64_MAX});  // two
  trace.append(
      prof::Memset{.startNs = 1, .durNs = INT64_MAX, .bytes = std::uint64_t{1} << 51});  // two
  const std::vector<std::string> warnings = trace.build()->warnings();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0], "one event of the file is no event");
  EXPECT_EQ(warnings[1],
            "6 times, lengths or sizes are beyond what a trace can have (73 years, 1 PiB); the "
            "nearest possible value stands for each");
}

/// Lengths below 0 become 0 before rows are put in order by them.
TEST(StoreBuilder, RowsAreOrderedByWhatIsKept) {
  StoreBuilder trace;
  trace.append(prof::Range{.startNs = 5, .durNs = -9, .correlation = 1});
  trace.append(prof::Range{.startNs = 5, .durNs = 0, .correlation = 2});
  trace.append(prof::Range{.startNs = INT64_MAX, .correlation = 3});
  trace.append(prof::Range{.startNs = kFarthestNs, .correlation = 4});
  const auto ids = trace.build();
  const auto column = ids->column<&prof::Range::correlation>();
  EXPECT_EQ(std::vector(column.begin(), column.end()), (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST(StoreBuilder, IsEmptyAfterwards) {
  StoreBuilder trace;
  trace.setPath("first.json");
  trace.addWarning("something");
  trace.append(prof::Mark{.timeNs = 3, .name = trace.intern("name")});
  EXPECT_EQ(trace.text(prof::StringId(1)), "name");
  const auto first = trace.build();
  EXPECT_EQ(trace.text(prof::StringId(1)), "");
  const auto second = trace.build();
  EXPECT_EQ(second->rows<prof::Mark>(), 0U);
  EXPECT_EQ(second->stringCount(), 1U);
  EXPECT_TRUE(second->warnings().empty());
  EXPECT_TRUE(second->path().empty());
  EXPECT_EQ(first->text(first->row<prof::Mark>(0).name), "name")
      << "the first store keeps what it got";
  EXPECT_EQ(first->path(), "first.json");
  EXPECT_EQ(first->warnings(), std::vector<std::string>{"something"});
}

TEST(StoreBuilder, RowsGivenInBulkAndOneByOneAreOneTable) {
  StoreBuilder trace;
  trace.append(prof::CounterSample{.timeNs = 2, .track = prof::TrackId(1), .value = 20});
  auto& columns = trace.columns<prof::CounterSample>();
  for (const TimeNs time : {3, 1}) {
    columns.timeNs.push_back(time);
    columns.track.emplace_back(2U);
    columns.value.push_back(10.0 * static_cast<double>(time));
  }
  const auto store = trace.build();
  ASSERT_EQ(store->rows<prof::CounterSample>(), 3U);
  for (std::uint64_t row = 0; row < 3; ++row) {
    const auto sample = store->row<prof::CounterSample>(row);
    EXPECT_EQ(sample.timeNs, static_cast<TimeNs>(row + 1));
    EXPECT_EQ(sample.value, 10.0 * static_cast<double>(row + 1));
    EXPECT_EQ(sample.track, prof::TrackId(row == 1 ? 1 : 2));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
