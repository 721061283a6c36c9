// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "analyses/work/calls.h"
#include "analyses/work/launch_index.h"
#include "analyzer/analyses/named_store.h"
#include "lacuna/analyzer/store.h"
#include "support/timeline_maker.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using test::kHundred;
using test::named;
using test::TimelineMaker;

TEST(Calls, OfSeveralChunksAreSortedByWhatTheyCost) {
  std::vector<CallRow> calls(3);
  for (std::size_t i = 0; i < calls.size(); ++i)
    calls[i].totalNs = static_cast<std::int64_t>(10 * i);
  sortCalls(calls);
  EXPECT_EQ(calls[0].totalNs, 20);
  EXPECT_EQ(calls[2].totalNs, 0);
}

TEST(Calls, OfCallsInEachOtherTheOneThatWaitsHasTheCopy) {
  TimelineMaker m;
  m.host(1, 0, 100, Activity::Sync, 1, 7)
      .host(1, 10, 20, Activity::Launch, 2, 7)
      .runs(1, 15, 95, 7, Work::Copy);
  m.made.device[0].kind = DeviceSpanKind::Copy;
  m.made.device[0].bytes = 2 * kStagedBytes;
  const auto store = named({"cudaMemcpy", "cudaMemcpyAsync"});
  const LaunchIndex launches(m.made);
  EXPECT_EQ(launches.find(m.made.device[0])->name, prof::StringId(2))
      << "the inner one launched it";
  EXPECT_EQ(launches.all(m.made.device[0]).size(), 2U);
  const auto rows = callTable(*store, m.made, launches, {0, 200});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "cudaMemcpy");
  EXPECT_EQ(rows[0].copies, 1U);
  EXPECT_EQ(rows[0].stepLargeNs, 100);
  EXPECT_EQ(rows[1].copies, 0U);
}

}  // namespace
}  // namespace lacuna::analyzer
