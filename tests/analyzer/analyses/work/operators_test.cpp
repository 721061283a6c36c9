// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

TEST(Operators, AreCountedHoweverDeepTheyNest) {
  // Were each visited by all those within it, this would take the test's time.
  constexpr TimeNs kDeep = 100'000;
  StoreBuilder builder;
  const auto add = [&](TimeNs startNs, TimeNs durNs, TimeNs i) {
    builder.append(Range{.startNs = startNs,
                         .durNs = durNs,
                         .thread = ThreadId(1),
                         .category = builder.intern("cpu_op"),
                         .name = builder.intern(i % 2 == 0 ? "even" : "odd")});
  };
  for (TimeNs i = 0; i < kDeep; ++i) add(i, 2 * (kDeep - i), i);
  add(3 * kDeep, 10, 0);
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  ASSERT_EQ(analysis->of<OperatorTables>().byName.size(), 2U);
  for (const OperatorRow& row : analysis->of<OperatorTables>().byName) {
    const bool isEven = row.name == "even";
    EXPECT_EQ(row.count, static_cast<std::uint64_t>(kDeep / 2 + (isEven ? 1 : 0)));
    EXPECT_EQ(row.totalNs, isEven ? 2 * kDeep + 10 : 2 * (kDeep - 1))
        << "a nested one's time counts once";
    EXPECT_EQ(row.selfNs, isEven ? kDeep + 10 : kDeep);
  }
}

TEST(Operators, WithDeviceWorkKnowWhatTheOperatorsInsideDemand) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  builder.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  const auto add = [&](TimeNs startNs, TimeNs durNs, std::string_view name,
                       std::string_view shapes) {
    builder.append(Range{.startNs = startNs,
                         .durNs = durNs,
                         .thread = ThreadId(1),
                         .category = builder.intern("operator"),
                         .name = builder.intern(name),
                         .text = builder.intern(shapes)});
  };
  // Two products inside a node of the backward graph, one of them inside another operator, and one
  // without device work.
  add(0, 100, "MmBackward0", "");
  add(10, 30, "aten::matmul", "f32[8,4] f32[4,2]");
  add(20, 10, "aten::mm", "f32[8,4] f32[4,2]");
  add(50, 10, "aten::mm", "f32[8,4] f32[4,2]");
  add(200, 50, "MmBackward0", "");
  add(210, 10, "aten::mm", "f32[8,4] f32[4,2]");
  builder.append(ApiCall{
      .startNs = 5, .thread = ThreadId(1), .name = builder.intern("enqueue"), .correlation = 1});
  builder.append(Kernel{
      .startNs = 5, .durNs = 90, .queue = QueueId(1), .device = DeviceId(1), .correlation = 1});
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  for (const OperatorRow& row : analysis->of<OperatorTables>().byShapes) {
    const bool works = row.name == "MmBackward0";
    EXPECT_EQ(row.deviceCalls, works ? 1U : 0U) << row.name;
    EXPECT_DOUBLE_EQ(row.inside.flops, works ? 2 * 128 : 0) << row.name;
  }
}

/// On one thread, in ns: outer 0 to 100, inner 20 to 60 within it, and inner 200 to 260 alone.
///   10 takes 1000 (outer's own), 30 takes 500 and 50 gives back 200 (the first inner's own), 90
///   gives back 500 (outer's own), 210 takes 64 (the second inner's own), 300 takes 7 (nobody's).
TEST(OperatorMemory, IsTheInnermostsOwnAndOfAllAround) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  const auto range = [&](TimeNs start, TimeNs dur, const char* name) {
    builder.append(Range{.startNs = start,
                         .durNs = dur,
                         .thread = ThreadId(1),
                         .category = builder.intern("cpu_op"),
                         .name = builder.intern(name)});
  };
  range(0, 100, "outer");
  range(20, 40, "inner");
  range(200, 60, "inner");
  const auto memory = [&](TimeNs at, MemoryAction action, std::uint64_t bytes) {
    builder.append(Allocation{.timeNs = at,
                              .thread = ThreadId(1),
                              .device = DeviceId(1),
                              .action = action,
                              .address = static_cast<std::uint64_t>(at) * 4096,
                              .bytes = bytes});
  };
  using enum MemoryAction;
  for (const auto& [at, action, bytes] :
       {std::tuple(10, Allocate, 1000), std::tuple(30, Allocate, 500), std::tuple(50, Free, 200),
        std::tuple(90, Free, 500), std::tuple(210, Allocate, 64), std::tuple(300, Allocate, 7)})
    memory(at, action, static_cast<std::uint64_t>(bytes));
  // Segments are the allocator's and no operator's.
  memory(40, Reserve, 1 << 20);
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
  for (const OperatorRow& row : analysis->of<OperatorTables>().byName)
    found[row.name] = {row.memBytes, row.selfMemBytes};
  using Figures = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(found["outer"], Figures(1000 + 500 - 200 - 500, 1000 - 500));
  EXPECT_EQ(found["inner"], Figures(500 - 200 + 64, 500 - 200 + 64));
}

TEST(OperatorMemory, OfTwoWithTheSameTimesIsTheSecondsOwnAndOfBoth) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  for (const char* name : {"outer", "inner"}) {
    builder.append(Range{.durNs = 100,
                         .thread = ThreadId(1),
                         .category = builder.intern("cpu_op"),
                         .name = builder.intern(name)});
  }
  builder.append(Allocation{.timeNs = 10,
                            .thread = ThreadId(1),
                            .action = MemoryAction::Allocate,
                            .address = 4096,
                            .bytes = 1000});
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
  for (const OperatorRow& row : analysis->of<OperatorTables>().byName)
    found[row.name] = {row.memBytes, row.selfMemBytes};
  EXPECT_EQ(found["outer"], std::pair(std::int64_t{1000}, std::int64_t{0}));
  EXPECT_EQ(found["inner"], std::pair(std::int64_t{1000}, std::int64_t{1000}));
}

}  // namespace
}  // namespace lacuna::analyzer
