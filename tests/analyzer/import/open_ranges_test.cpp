// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/open_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kEveryRow = [](std::size_t) { return true; };

class OpenRangesTest : public testing::Test {
 protected:
  OpenRangesTest() {
    for (std::uint32_t id = 1; id <= 2; ++id)
      builder_.append(prof::Thread{.id = prof::ThreadId(id)});
  }
  void range(prof::TimeNs startNs, prof::TimeNs endNs, std::uint32_t thread = 1) {
    builder_.append(prof::Range{
        .startNs = startNs, .durNs = endNs - startNs, .thread = prof::ThreadId(thread)});
  }

  StoreBuilder builder_;
  const prof::ThreadId thread_{1}, other_{2};
};

TEST_F(OpenRangesTest, AreThoseAroundATimeOutermostFirst) {
  range(0, 100);
  range(5, 60, 2);
  range(10, 50);
  range(20, 30);
  OpenRanges open(builder_, kEveryRow);
  EXPECT_THAT(open.at(thread_, -1), IsEmpty());
  EXPECT_THAT(open.at(thread_, 0), ElementsAre(0));
  EXPECT_THAT(open.at(thread_, 25), ElementsAre(0, 2, 3));
  EXPECT_THAT(open.at(other_, 25), ElementsAre(1));
  EXPECT_THAT(open.at(thread_, 30), ElementsAre(0, 2, 3)) << "the end is still inside";
  EXPECT_THAT(open.at(thread_, 31), ElementsAre(0, 2));
  EXPECT_THAT(open.at(thread_, 101), IsEmpty());
  EXPECT_EQ(open.endOf(3), 30);
}

TEST_F(OpenRangesTest, OneThatBeginsWhereAnotherEndsTakesItsPlace) {
  range(0, 10);
  range(10, 20);
  OpenRanges open(builder_, kEveryRow);
  EXPECT_THAT(open.at(thread_, 10), ElementsAre(1));
}

TEST_F(OpenRangesTest, RowsThatDoNotCountAreNotThere) {
  range(0, 10);
  range(1, 10);
  range(2, 10);
  OpenRanges open(builder_, [](std::size_t row) { return row != 1; });
  EXPECT_THAT(open.at(thread_, 5), ElementsAre(0, 2));
}

TEST_F(OpenRangesTest, ATraceWithoutRangesHasNone) {
  OpenRanges open(builder_, kEveryRow);
  EXPECT_THAT(open.at(thread_, 5), IsEmpty());
}

TEST_F(OpenRangesTest, AreWhatASearchOfAllRangesFinds) {
  std::mt19937 random(37);
  prof::TimeNs start = 0;
  for (int i = 0; i < 200; ++i) {
    start += static_cast<prof::TimeNs>(random() % 4);
    range(start, start + static_cast<prof::TimeNs>(random() % 30), 1 + random() % 2);
  }
  const auto& rows = builder_.columns<prof::Range>();
  OpenRanges open(builder_, kEveryRow);
  const auto endOf = [&](std::size_t i) { return rows.startNs[i] + rows.durNs[i]; };
  for (prof::TimeNs time = 0; time < start + 40; ++time) {
    const prof::ThreadId thread(1 + random() % 2);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < rows.startNs.size(); ++i) {
      bool isOpen = rows.thread[i] == thread && rows.startNs[i] <= time && endOf(i) >= time;
      for (std::size_t j = i + 1; j < rows.startNs.size(); ++j) {
        const bool isFollowed =
            rows.thread[j] == thread && rows.startNs[j] <= time && endOf(i) <= rows.startNs[j];
        isOpen = isOpen && !isFollowed;
      }
      if (isOpen) expected.push_back(i);
    }
    ASSERT_EQ(open.at(thread, time), expected) << time;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
