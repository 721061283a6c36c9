// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "analyses/ranks/ranks.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

TEST(Ranks, SplitCollectivesIntoWaitingAndTransfer) {
  const RankStats stats = rankStats({{0, 100, 0, "reduce"},
                                     {10, 100, 1, "reduce"},
                                     {40, 100, 2, "reduce"},
                                     {200, 210, 0, "gather"},
                                     {200, 210, -1, ""}});
  ASSERT_EQ(stats.rows.size(), 3u);
  EXPECT_EQ(stats.matched, 1u);
  EXPECT_EQ(stats.unmatched, 1u);
  const std::int64_t waits[] = {40, 30, 0};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(stats.rows[rank].waitNs, waits[rank]);
    EXPECT_EQ(stats.rows[rank].transferNs, 60);
  }
  EXPECT_EQ(stats.rows[2].last, 1u);
  EXPECT_EQ(stats.rows[2].heldUpNs, 30);
  EXPECT_NEAR(stats.waitShare(), 70.0 / 250, 1e-9);
}

TEST(Ranks, OfTwoTheLaterOneIsBehindTheOther) {
  const RankStats stats = rankStats({{0, 100, 0, "reduce"}, {40, 100, 1, "reduce"}});
  ASSERT_EQ(stats.rows.size(), 2u);
  EXPECT_EQ(stats.rows[0].heldUpNs, 0);
  EXPECT_EQ(stats.rows[1].heldUpNs, 40);
  ASSERT_EQ(stats.latest.size(), 1u);
  EXPECT_EQ(stats.latest[0].fromNs, 0);
  EXPECT_EQ(stats.latest[0].toNs, 40);
}

TEST(Ranks, WithoutTheLastOneTheOthersWaitForTheNextToLast) {
  const RankStats stats = rankStats({{0, 100, 0, "reduce"},
                                     {5, 100, 1, "reduce"},
                                     {30, 100, 2, "reduce"},
                                     {40, 100, 3, "reduce"}});
  ASSERT_EQ(stats.rows.size(), 4u);
  EXPECT_EQ(stats.rows[3].stepHeldUpNs, 35);
  EXPECT_EQ(stats.rows[3].stepAloneNs, 10);
  EXPECT_EQ(stats.rows[2].stepAloneNs, 0);
}

TEST(Ranks, WhatIsWaitedForInSeveralAtOnceIsLostOnce) {
  // Two all-reduces of buckets, side by side: the rank that is late holds the other one up from 0
  // to 45.
  const RankStats stats = rankStats(
      {{0, 100, 0, "first"}, {40, 100, 1, "first"}, {5, 100, 0, "second"}, {45, 100, 1, "second"}});
  ASSERT_EQ(stats.rows.size(), 2U);
  EXPECT_EQ(stats.rows[0].waitNs, 80);
  EXPECT_EQ(stats.rows[0].stepWaitNs, 45);
  EXPECT_EQ(stats.rows[1].heldUpNs, 45);
  EXPECT_EQ(stats.rows[1].stepHeldUpNs, 45);
  EXPECT_EQ(stats.rows[1].stepAloneNs, 45);
}

TEST(Ranks, ARankThatLeavesEarlyIsHeldUpNoLonger) {
  const RankStats stats = rankStats({{0, 25, 0, "send"}, {40, 100, 1, "send"}});
  ASSERT_EQ(stats.rows.size(), 2u);
  EXPECT_EQ(stats.rows[0].waitNs, 25);
  EXPECT_EQ(stats.rows[1].heldUpNs, 25);
  EXPECT_EQ(stats.rows[1].stepHeldUpNs, 25);
  EXPECT_EQ(stats.rows[1].stepAloneNs, 25);
  ASSERT_EQ(stats.latest.size(), 1u);
  EXPECT_EQ(stats.latest[0].toNs, 25);
}

TEST(Ranks, GroupsOfOneDescriptionAreMatchedEachByItself) {
  StoreBuilder builder;
  std::vector<DeviceAccount> devices;
  const TimeNs starts[] = {0, 10, 200, 240};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const QueueId queue(rank + 1);
    const ArgSetId args(rank + 1);
    const TimeNs end = rank < 2 ? 100 : 300;
    builder.append(Kernel{.startNs = starts[rank],
                          .durNs = end - starts[rank],
                          .queue = queue,
                          .name = builder.intern("ncclDevKernel_AllReduce"),
                          .args = args});
    builder.append(ArgSet{
        .id = args, .shape = builder.intern("+Process Group Name\n+Process Group Description")});
    const auto text = [&](const char* key, const char* value) {
      builder.append(Arg{.set = args,
                         .key = builder.intern(key),
                         .type = ArgType::Text,
                         .value = builder.intern(value).value});
    };
    text("Process Group Name", rank < 2 ? "3" : "4");
    text("Process Group Description", "tensor");
    devices.emplace_back();
    devices.back().rank = static_cast<std::int32_t>(rank);
    devices.back().queues.push_back({.id = queue, .name = {}, .ledger = {}, .bands = {}});
  }
  const auto stats = rankStats(*builder.build(), {0, 1000}, devices, StepSpans());
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->matched, 2U);
  ASSERT_EQ(stats->rows.size(), 4U);
  const std::int64_t waits[] = {10, 0, 40, 0};
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(stats->rows[rank].waitNs, waits[rank]) << rank;
}

TEST(Ranks, AreSilentOnOneRank) {
  EXPECT_TRUE(rankStats({{0, 100, 0, "reduce"}}).rows.empty());
}

}  // namespace
}  // namespace lacuna::analyzer
