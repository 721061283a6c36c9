// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/snapshot/memory_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/own_columns.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::MemoryAction;
using testing::ElementsAre;
using testing::IsEmpty;

class MemoryTotalsTest : public testing::Test {
 protected:
  /// An event that gives `bytes` out, or back where they are negative, and what the device has
  /// after it.
  void event(prof::TimeNs timeNs, std::int64_t bytes, std::uint64_t address, MemoryTotals totals,
             std::uint32_t device = 1) {
    prof::Allocation row;
    row.timeNs = timeNs;
    row.thread.value = 4;
    row.device.value = device;
    row.action = bytes < 0 ? MemoryAction::Free : MemoryAction::Allocate;
    row.address = address;
    row.bytes = static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes);
    builder_.append(row);
    totals_.push_back(totals);
  }
  void rangeFrom(prof::TimeNs startNs) { builder_.append(prof::Range{.startNs = startNs}); }
  /// The rows that the totals add: "9 take 500@16", those of the segments "20 reserve 500"; of
  /// another device "(2)".
  std::vector<std::string> added() {
    addMemoryOfTotals(builder_, totals_);
    const auto& rows = builder_.columns<prof::Allocation>();
    std::vector<std::string> out;
    for (std::size_t i = totals_.size(); i < rows.timeNs.size(); ++i) {
      const bool isSegment =
          rows.action[i] == MemoryAction::Reserve || rows.action[i] == MemoryAction::Release;
      std::string line = std::to_string(rows.timeNs[i]);
      line += isSegment ? rows.action[i] == MemoryAction::Reserve ? " reserve " : " release "
                        : " take ";
      line += std::to_string(rows.bytes[i]);
      if (!isSegment) line += "@" + std::to_string(rows.address[i]);
      if (rows.device[i].value != 1) line += " (" + std::to_string(rows.device[i].value) + ")";
      out.push_back(line);
      EXPECT_EQ(rows.role[i] == prof::MemoryRole::Cached, isSegment) << line;
      const bool isLater = rows.thread[i].value != 0;
      EXPECT_EQ(builder_.text(rows.op[i]), isLater ? kReservedTotal : kHeldBefore) << line;
    }
    return out;
  }

  StoreBuilder builder_;
  std::vector<MemoryTotals> totals_;
};

TEST_F(MemoryTotalsTest, WithoutTotalsNothingIsAdded) {
  EXPECT_THAT(added(), IsEmpty());
  event(10, 300, 16, {});
  event(20, -300, 16, {.reserved = 4'000});
  EXPECT_THAT(added(), IsEmpty());
}

TEST_F(MemoryTotalsTest, TheFirstAllocationLeavesTheRestForBefore) {
  event(10, 300, 16, {.allocated = 1'000, .reserved = 4'000});
  EXPECT_THAT(added(), ElementsAre("9 take 700@0", "9 reserve 4000"));
}

TEST_F(MemoryTotalsTest, WhatTheFirstEventGivesBackWasThere) {
  event(10, -300, 16, {.allocated = 1'000});
  EXPECT_THAT(added(), ElementsAre("9 take 300@16", "9 take 1000@0"));
}

TEST_F(MemoryTotalsTest, WithAllAccountedForNothingWasHeldBefore) {
  event(10, 300, 16, {.allocated = 300, .reserved = 0});
  event(20, -300, 16, {.allocated = 0, .reserved = 0});
  EXPECT_THAT(added(), IsEmpty());
}

TEST_F(MemoryTotalsTest, BlocksThatAreGivenBackUnseenHaveTheirAddressesBefore) {
  event(10, 100, 16, {.allocated = 1'000});
  event(20, -200, 32, {});
  event(30, -100, 16, {});
  event(40, -300, 48, {});
  event(50, 50, 32, {});
  event(60, -50, 32, {});
  EXPECT_THAT(added(), ElementsAre("9 take 200@32", "9 take 300@48", "9 take 400@0"));
}

TEST_F(MemoryTotalsTest, TotalsThatAreTooSmallLeaveNoRest) {
  event(10, 300, 16, {.allocated = 100});
  event(20, -500, 32, {});
  EXPECT_THAT(added(), ElementsAre("9 take 500@32"));
}

TEST_F(MemoryTotalsTest, SegmentsMoveWhereTheirTotalChanges) {
  event(10, 100, 16, {.allocated = 100, .reserved = 4'000});
  event(20, 100, 32, {.allocated = 200, .reserved = 4'000});
  event(30, 100, 48, {.allocated = 300, .reserved = 6'500});
  event(40, 100, 64, {.allocated = 400});
  event(50, -100, 64, {.allocated = 300, .reserved = 500});
  EXPECT_THAT(added(), ElementsAre("9 reserve 4000", "30 reserve 2500", "50 release 6000"));
}

TEST_F(MemoryTotalsTest, DevicesAreFollowedApartAndTheFirstEventDecides) {
  event(10, 100, 16, {.allocated = 150, .reserved = 400}, 2);
  event(11, 100, 16, {.allocated = 100, .reserved = 300}, 1);
  event(12, 100, 16, {}, 3);
  event(20, 100, 32, {.allocated = 900, .reserved = 900}, 3);
  event(21, -100, 16, {.allocated = 50, .reserved = 100}, 2);
  EXPECT_THAT(added(), ElementsAre("9 reserve 300", "9 take 50@0 (2)", "9 reserve 400 (2)",
                                   "21 release 300 (2)"));
}

TEST_F(MemoryTotalsTest, EventsAreFollowedInTheOrderOfTime) {
  event(30, -40, 16, {.allocated = 60, .reserved = 200});
  event(20, 40, 16, {.allocated = 100, .reserved = 100});
  event(30, 5, 32, {.allocated = 65, .reserved = 300});
  EXPECT_THAT(added(),
              ElementsAre("19 take 60@0", "19 reserve 100", "30 reserve 100", "30 reserve 100"));
}

TEST_F(MemoryTotalsTest, BeforeIsTheStartOfTheTrace) {
  event(50, 40, 16, {.allocated = 100});
  rangeFrom(70);
  EXPECT_THAT(added(), ElementsAre("49 take 60@0"));
}

TEST_F(MemoryTotalsTest, BeforeIsTheFirstRangeWhereThatIsEarlier) {
  event(50, 40, 16, {.allocated = 100});
  rangeFrom(30);
  rangeFrom(10);
  EXPECT_THAT(added(), ElementsAre("10 take 60@0"));
}

}  // namespace
}  // namespace lacuna::analyzer
