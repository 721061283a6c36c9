// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/without_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

struct HostRow {
  const char* name;
  TimeNs startNs, endNs;
  bool isCall = false;
  std::uint32_t thread = 1;
  const char* category = "";
};

/// The host's rows, and the devices' windows within one from 0 to 1000.
Analysis hostAndDevices(const std::vector<HostRow>& rows, const std::vector<TimeWindow>& devices) {
  StoreBuilder builder;
  for (const HostRow& row : rows) {
    const std::int64_t dur = row.endNs - row.startNs;
    const ThreadId thread(row.thread);
    if (row.isCall) {
      builder.append(prof::ApiCall{.startNs = row.startNs,
                                   .durNs = dur,
                                   .thread = thread,
                                   .name = builder.intern(row.name)});
    } else {
      builder.append(prof::Range{.startNs = row.startNs,
                                 .durNs = dur,
                                 .thread = thread,
                                 .category = builder.intern(row.category),
                                 .name = builder.intern(row.name)});
    }
  }
  Analysis analysis;
  analysis.store = builder.build();
  analysis.window = {0, 1000};
  for (const TimeWindow& window : devices) analysis.devices.emplace_back().window = window;
  return analysis;
}

/// Its words for the first 100 ns, before the device's work.
WithoutDevices beforeOf(const std::vector<HostRow>& rows) {
  Analysis analysis = hostAndDevices(rows, {{100, 1000}});
  EXPECT_TRUE(findWithoutDevices(analysis));
  return analysis.of<StretchesWithoutDevices>().before;
}

TEST(WithoutDevices, AStretchIsCalledAfterTheInnermostThatTakesHalfOfIt) {
  struct Case {
    std::vector<HostRow> rows;
    const char* longest;
    std::int64_t ns;
  };
  for (const Case& one : {
           Case{{}, "", 0},
           Case{{{"main", 0, 1000}}, "main", 100},
           Case{{{"main", 0, 1000}, {"prepare", 10, 80}, {"init", 20, 70, true}}, "init", 50},
           Case{{{"main", 0, 1000}, {"prepare", 10, 80}, {"init", 20, 69, true}}, "prepare", 70},
           Case{{{"init", 20, 70, true}, {"main", 0, 1000}, {"prepare", 10, 80}}, "init", 50},
           Case{{{"a", 0, 20}, {"b", 30, 60, true}, {"c", 70, 90}}, "b", 30},
           Case{{{"a", 0, 49}, {"b", 50, 100}}, "b", 50},
           Case{{{"outer", 0, 1000}, {"inner", 0, 100}}, "inner", 100},
           Case{{{"inner", 0, 100, true}, {"outer", 0, 1000}}, "inner", 100},
           Case{{{"", 0, 100}, {"short", 1, 2}}, "short", 1},
           Case{{{"behind", 100, 1000}}, "", 0},
       }) {
    const WithoutDevices before = beforeOf(one.rows);
    EXPECT_EQ(before.ns, 100);
    EXPECT_EQ(before.longest, one.longest);
    EXPECT_EQ(before.longestNs, one.ns) << one.longest;
  }
}

TEST(WithoutDevices, TheRecordersOwnRangeIsNoWorkOfTheHost) {
  EXPECT_EQ(
      beforeOf({{"PyTorch Profiler (0)", 0, 1000, false, 1, "Trace"}, {"load", 5, 10}}).longest,
      "load");
  EXPECT_EQ(beforeOf({{"Trace", 0, 1000, false, 1, "cpu_op"}, {"load", 5, 10}}).longest, "Trace");
  EXPECT_EQ(beforeOf({{"Trace", 0, 60}, {"load", 5, 10}}).longest, "Trace")
      << "a name is no category";
}

TEST(WithoutDevices, OnlyTheSelectedProcessesCount) {
  Analysis analysis = hostAndDevices(
      {{"other", 0, 100, false, 2}, {"others", 0, 100, true, 2}, {"own", 0, 60}}, {{100, 1000}});
  analysis.scope.only.everything = false;
  analysis.scope.only.processes = {prof::ProcessId(1)};
  analysis.scope.only.processOfThread = {{ThreadId(1), prof::ProcessId(1)},
                                         {ThreadId(2), prof::ProcessId(2)}};
  ASSERT_TRUE(findWithoutDevices(analysis));
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longest, "own");
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longestNs, 60);
}

TEST(WithoutDevices, StretchesLieOutsideOfTheWorkOfAllDevices) {
  Analysis analysis = hostAndDevices({{"import", 0, 250, true}, {"save", 650, 1000, true}},
                                     {{300, 500}, {200, 400}, {350, 600}});
  ASSERT_TRUE(findWithoutDevices(analysis));
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.ns, 200);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longest, "import");
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longestNs, 200)
      << "as far as it lies before the work";
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().after.ns, 400);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().after.longest, "save");
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().after.longestNs, 350);
}

TEST(WithoutDevices, AreEmptyWhereTheWorkFillsTheWindowOrNoneIsThere) {
  for (const std::vector<TimeWindow>& devices :
       {std::vector<TimeWindow>{{0, 1000}}, std::vector<TimeWindow>{}}) {
    Analysis analysis = hostAndDevices({{"main", 0, 1000}}, devices);
    ASSERT_TRUE(findWithoutDevices(analysis));
    for (const WithoutDevices* stretch : {&analysis.of<StretchesWithoutDevices>().before,
                                          &analysis.of<StretchesWithoutDevices>().after}) {
      EXPECT_EQ(stretch->ns, 0);
      EXPECT_EQ(stretch->longest, "");
      EXPECT_EQ(stretch->longestNs, 0);
    }
  }
}

TEST(WithoutDevices, HalfIsMostAndATwentiethIsKnown) {
  EXPECT_TRUE((WithoutDevices{100, "a", 50}.isMostly()));
  EXPECT_FALSE((WithoutDevices{100, "a", 49}.isMostly()));
  EXPECT_FALSE((WithoutDevices{100, "a", 5}.isHardlyKnown()));
  EXPECT_TRUE((WithoutDevices{100, "a", 4}.isHardlyKnown()));
  EXPECT_TRUE((WithoutDevices{100, "", 0}.isHardlyKnown()));
}

}  // namespace
}  // namespace lacuna::analyzer
