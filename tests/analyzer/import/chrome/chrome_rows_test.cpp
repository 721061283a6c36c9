// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/chrome/json_walker.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ChromeRowsTest : public testing::Test {
 protected:
  /// Adds events that are written without their braces, the first of them at byte 1000.
  void add(const std::vector<std::string>& events) {
    std::string text;
    for (const std::string& event : events) text += (text.empty() ? "{" : ",{") + event + "}";
    const std::size_t size = text.size();
    text.append(JsonWalker::kPadding, ' ');
    JsonWalker walker;
    const auto outcome = walker.walk(std::string_view(text).substr(0, size), 1000,
                                     [&](const RawEvent& event) { rows_.add(event); });
    EXPECT_THAT(outcome.problems, IsEmpty());
  }
  /// With a place and a time.
  void addPlaced(const std::vector<std::string>& events) {
    std::vector<std::string> placed;
    for (const std::string& event : events) placed.push_back(R"("pid":1,"tid":2,"ts":5,)" + event);
    add(placed);
  }
  [[nodiscard]] std::string_view text(prof::StringId id) const { return rows_.strings.text(id); }
  [[nodiscard]] std::string_view shape(prof::ArgSetId set) const {
    return text(rows_.args.sets.shape[set.value - 1]);
  }

  const ChromeRows::DeviceSizes sizes_{{3, 100}};
  ChromeRows rows_{sizes_};
};

TEST_F(ChromeRowsTest, EveryPhaseHasItsTable) {
  for (const char phase : std::string_view("XstfiICBEbeSFnTpMPZ")) {
    addPlaced({R"("name":"n","args":{"v":1},"ph":")" + std::string(1, phase) + "\""});
  }
  addPlaced({R"("name":"without")"});
  EXPECT_EQ(rows_.events, 20U);
  EXPECT_EQ(rows_.ranges.name.size(), 1U);
  EXPECT_THAT(rows_.flows.phase,
              ElementsAre(prof::FlowPhase::Begin, prof::FlowPhase::Step, prof::FlowPhase::End));
  EXPECT_EQ(rows_.marks.name.size(), 5U);
  std::string loose;
  for (const LooseEvent& event : rows_.loose) loose += event.phase;
  EXPECT_EQ(loose, "CBEbebe") << "the older S and F are b and e";
  EXPECT_EQ(rows_.metadata.size(), 1U);
  EXPECT_EQ(rows_.unreadPhases, (std::map<char, std::uint64_t>{{'P', 1}, {'Z', 1}, {0, 1}}));
  EXPECT_EQ(rows_.others.size(), 3U);
  EXPECT_THAT(rows_.problems, IsEmpty());
}

TEST_F(ChromeRowsTest, EveryCategoryHasItsTable) {
  for (const char* category : {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset",
                               "cuda_sync", "overhead", "cuda_runtime", "hip_runtime", "Runtime",
                               "cuda_driver", "cpu_op", "gpu_user_annotation", "kernels", ""}) {
    addPlaced({R"("ph":"X","name":"n","cat":")" + std::string(category) + "\""});
  }
  EXPECT_EQ(rows_.kernels.name.size(), 2U);
  EXPECT_EQ(rows_.copies.name.size(), 2U);
  EXPECT_EQ(rows_.memsets.name.size(), 2U);
  EXPECT_EQ(rows_.syncs.name.size(), 1U);
  EXPECT_EQ(rows_.overheads.name.size(), 1U);
  using enum prof::ApiKind;
  EXPECT_THAT(rows_.calls.kind, ElementsAre(Runtime, Runtime, Runtime, Driver));
  ASSERT_EQ(rows_.ranges.name.size(), 4U);
  EXPECT_TRUE(rows_.ranges.queue[1] && !rows_.ranges.thread[1]) << "it annotates device work";
  EXPECT_TRUE(rows_.ranges.thread[0] && !rows_.ranges.queue[0]);
  EXPECT_EQ(text(rows_.ranges.category[2]), "kernels");
}

TEST_F(ChromeRowsTest, TimesAreMicrosecondsAndAFinerOneStaysBesideTheEvent) {
  struct Case {
    std::string_view ts, dur;
    prof::TimeNs startNs, durNs;
    std::string_view shape;
  };
  const Case cases[] = {{"1.5", "0.250", 1'500, 250, ""},
                        {"\"2\"", "\"3\"", 2'000, 3'000, ""},
                        {"-4", "0", -4'000, 0, ""},
                        {"1.0002", "7", 1'000, 7'000, ".ts"},
                        {"1", "7.0001", 1'000, 7'000, ".dur"},
                        {"1.0002", "7.0001", 1'000, 7'000, ".ts\n.dur"},
                        {"1.50000", "1", 1'500, 1'000, ""}};
  for (const Case& one : cases) {
    rows_.clearRows();
    add({R"("ph":"X","ts":)" + std::string(one.ts) + R"(,"dur":)" + std::string(one.dur)});
    ASSERT_EQ(rows_.ranges.startNs.size(), 1U) << one.ts;
    EXPECT_EQ(rows_.ranges.startNs[0], one.startNs) << one.ts;
    EXPECT_EQ(rows_.ranges.durNs[0], one.durNs) << one.dur;
    EXPECT_EQ(rows_.ranges.args[0] ? shape(rows_.ranges.args[0]) : "", one.shape) << one.ts;
  }
}

TEST_F(ChromeRowsTest, AnEventWithoutAUsableTimeIsKeptAsText) {
  const std::pair<std::string, std::string_view> cases[] = {
      {R"("ph":"X","dur":1)", "ts"},          {R"("ph":"i","ts":"soon")", "ts"},
      {R"("ph":"C","ts":NaN)", "ts"},         {R"("ph":"B","ts":1e300)", "ts"},
      {R"("ph":"s","ts":null)", "ts"},        {R"("ph":"X","ts":1,"dur":-1)", "dur"},
      {R"("ph":"X","ts":1,"dur":[1])", "dur"}};
  for (const auto& [event, field] : cases) {
    rows_.clearRows();
    add({event});
    ASSERT_EQ(rows_.problems.size(), 1U) << event;
    EXPECT_EQ(rows_.problems[0].offset, 1000U);
    EXPECT_EQ(rows_.problems[0].what,
              "an event without a usable \"" + std::string(field) + "\" is kept as text only");
    EXPECT_EQ(rows_.others.size(), 1U) << event;
    EXPECT_TRUE(rows_.ranges.name.empty() && rows_.marks.name.empty() && rows_.loose.empty());
  }
}

TEST_F(ChromeRowsTest, EachNumberOfACounterIsASample) {
  addPlaced(
      {R"("ph":"C","name":"memory","args":{"used":5,"free":-1.5,"state":"busy","flag":true,"list":[1]})",
       R"("ph":"C","name":"memory","id":"0x7","args":{"used":6})",
       R"("ph":"C","name":"none","args":{})"});
  std::vector<std::string> samples;
  for (const LooseEvent& event : rows_.loose) {
    samples.push_back(std::string(text(event.name)) + "/" + std::string(text(event.series)));
    EXPECT_EQ(event.timeNs, 5'000);
  }
  EXPECT_THAT(samples, ElementsAre("memory/used", "memory/free", "memory[0x7]/used"));
  EXPECT_EQ(rows_.loose[1].value, -1.5);
  EXPECT_EQ(rows_.unreadSamples, 3U);
  EXPECT_EQ(rows_.firstUnreadSample, 1000U);
  rows_.clearRows();
  addPlaced({R"("ph":"C","args":{"a":1})", R"("ph":"C","args":{"a":null})"});
  EXPECT_EQ(rows_.unreadSamples, 1U);
  EXPECT_GT(rows_.firstUnreadSample, 1000U) << "the first since the rows were cleared";
}

TEST_F(ChromeRowsTest, AsynchronousEventsAreJoinedByIdScopeAndProcess) {
  struct Case {
    std::string one, other;
    bool isSame;
  };
  const Case cases[] = {
      {R"("ph":"b","id":1)", R"("ph":"e","id":1)", true},
      {R"("ph":"b","id":"1")", R"("ph":"e","id":1)", true},
      {R"("ph":"b","id":1)", R"("ph":"e","id":2)", false},
      {R"("ph":"b","id":1,"name":"a")", R"("ph":"e","id":1,"name":"b")", true},
      {R"("ph":"S","id":1,"name":"a")", R"("ph":"F","id":1,"name":"a")", true},
      {R"("ph":"S","id":1,"name":"a")", R"("ph":"F","id":1,"name":"b")", false},
      {R"("ph":"b","id":1,"scope":"x")", R"("ph":"e","id":1,"scope":"y")", false},
      {R"("ph":"b","id":1,"scope":"x")", R"("ph":"e","id":1)", false},
      {R"("ph":"b","id":1,"pid":7)", R"("ph":"e","id":1,"pid":8)", true},
      {R"("ph":"b","pid":7,"id2":{"local":"1"})", R"("ph":"e","pid":7,"id2":{"local":"1"})", true},
      {R"("ph":"b","pid":7,"id2":{"local":"1"})", R"("ph":"e","pid":8,"id2":{"local":"1"})", false},
      {R"("ph":"b","pid":7,"id2":{"global":"1"})", R"("ph":"e","pid":8,"id2":{"global":"1"})",
       true},
      {R"("ph":"b","pid":7,"id2":{"global":"1"})", R"("ph":"e","pid":7,"id2":{"local":"1"})",
       false}};
  for (const Case& one : cases) {
    rows_.clearRows();
    add({R"("ts":1,)" + one.one, R"("ts":2,)" + one.other});
    ASSERT_EQ(rows_.loose.size(), 2U);
    EXPECT_EQ(rows_.loose[0].id == rows_.loose[1].id, one.isSame) << one.one << " " << one.other;
  }
}

TEST_F(ChromeRowsTest, ColumnsOfARangeAreThoseOfItsArguments) {
  addPlaced(
      {R"("ph":"X","args":{"External id":7,"Sequence number":-3,"Input Dims":[[2, 3]],"more":1})",
       R"("ph":"X","args":{"External Id":8,"Input Dims":"none"})",
       R"("ph":"X","args":{"External id":-1})"});
  EXPECT_THAT(rows_.ranges.correlation, ElementsAre(7, 8, 0));
  EXPECT_EQ(static_cast<std::int64_t>(rows_.ranges.payload[0]), -3);
  EXPECT_THAT(rows_.ranges.payloadType, ElementsAre(prof::PayloadType::I64, prof::PayloadType::None,
                                                    prof::PayloadType::None));
  EXPECT_EQ(text(rows_.ranges.text[0]), "[[2, 3]]");
  EXPECT_EQ(text(rows_.ranges.text[1]), "");
  EXPECT_EQ(shape(rows_.ranges.args[0]), "=External id\n=Sequence number\n=Input Dims\n+more");
  EXPECT_EQ(shape(rows_.ranges.args[2]), "+External id");
}

TEST_F(ChromeRowsTest, ColumnsOfAKernelAreThoseOfItsArgumentsAndItsPlace) {
  add({R"("ph":"X","cat":"kernel","pid":3,"tid":20,"ts":1,"dur":2,"args":{"device":3,"stream":20,"grid":[50, 2, 1],)"
       R"("block":[32, 1, 1],"blocks per SM":1,"warps per SM":1.0,"registers per thread":70000,"shared memory":512,)"
       R"("correlation":9})"});
  const auto kernel = rows_.kernels.row(0);
  EXPECT_EQ(kernel.gridX * 1000 + kernel.gridY * 10 + kernel.gridZ, 50'021U);
  EXPECT_EQ(kernel.blockX, 32U);
  EXPECT_EQ(kernel.staticSharedBytes, 512U);
  EXPECT_EQ(kernel.registersPerThread, 0U) << "70000 does not fit the column";
  EXPECT_EQ(kernel.correlation, 9U);
  EXPECT_EQ(shape(kernel.args),
            "=device\n=stream\n=grid\n=block\n=blocks per SM\n=warps per SM\n+registers per "
            "thread\n=shared memory\n"
            "=correlation");
  EXPECT_TRUE(rows_.locations[kernel.queue.value].usedByDevice);
}

TEST_F(ChromeRowsTest, AMemoryEventIsAnAllocationWhereItHasAllOfOne) {
  const auto memory = [](std::string_view name, std::string_view args) {
    return R"("ph":"i","name":")" + std::string(name) + R"(","args":{)" + std::string(args) + "}";
  };
  addPlaced({memory("[memory]",
                    R"("Bytes":512,"Addr":64,"Device Id":1,"Device Type":1,"Total Allocated":9)"),
             memory("[memory]", R"("Bytes":-512,"Addr":64,"Device Id":0,"Device Type":0)"),
             memory("[reserved memory]", R"("Bytes":4096,"Addr":0,"Device Id":0,"Device Type":1)"),
             memory("[reserved memory]", R"("Bytes":-4096,"Addr":0,"Device Id":0,"Device Type":1)"),
             memory("[memory]", R"("Bytes":512,"Addr":64)"),
             memory("[memory]", R"("Bytes":"x","Addr":1,"Device Id":1)"),
             memory("memory", R"("Bytes":512,"Addr":64,"Device Id":1)")});
  using enum prof::MemoryAction;
  EXPECT_THAT(rows_.allocations.action, ElementsAre(Allocate, Free, Reserve, Release));
  EXPECT_THAT(rows_.allocations.bytes, ElementsAre(512, 512, 4096, 4096));
  std::vector<std::uint32_t> devices;
  for (const auto device : rows_.allocations.device) devices.push_back(device.value);
  EXPECT_THAT(devices, ElementsAre(2, 0, 1, 1)) << "a device's number plus one, 0 for the host";
  ASSERT_EQ(rows_.memoryTotals.size(), 4U);
  EXPECT_EQ(rows_.memoryTotals[0].allocated, 9);
  EXPECT_EQ(rows_.memoryTotals[0].reserved, -1);
  EXPECT_EQ(rows_.memoryTotals[1].allocated, -1);
  EXPECT_EQ(rows_.marks.name.size(), 3U);
}

TEST_F(ChromeRowsTest, IdsOfFlowsThatAreNoNumbersAreHashed) {
  addPlaced({R"("ph":"s","id":7)", R"("ph":"f","id":"0x7","bp":"e")", R"("ph":"t","id":-7)"});
  EXPECT_THAT(rows_.flows.id,
              ElementsAre(7, StringPool::hashOf("\"0x7\""), StringPool::hashOf("-7")));
  EXPECT_FALSE(rows_.flows.args[0]);
  EXPECT_EQ(shape(rows_.flows.args[1]), ".id\n!bp=\"e\"");
  EXPECT_EQ(shape(rows_.flows.args[2]), ".id");
}

TEST_F(ChromeRowsTest, PlacesDifferByTheirTokensAndStayWhenRowsGo) {
  for (int round = 0; round < 3; ++round) {
    for (int tid = 0; tid < 20; ++tid)
      add({R"("ph":"i","ts":1,"pid":1,"tid":)" + std::to_string(tid)});
  }
  EXPECT_EQ(rows_.locations.size(), 21U) << "the first stands for none";
  EXPECT_EQ(rows_.marks.thread[0], rows_.marks.thread[40]);
  EXPECT_EQ(rows_.locations[rows_.marks.thread[59].value].tid, "19");
  rows_.clearRows();
  add({R"("ph":"i","ts":1,"pid":"1","tid":19)", R"("ph":"i","ts":1,"pid":1,"tid":19)",
       R"("ph":"i","ts":1)", R"("ph":"s","ts":1,"id":1,"pid":5,"tid":5)"});
  ASSERT_EQ(rows_.locations.size(), 24U);
  EXPECT_EQ(rows_.locations[21].pid, "\"1\"");
  EXPECT_EQ(rows_.marks.thread[1].value, 20U);
  EXPECT_EQ(rows_.locations[22].pid + rows_.locations[22].tid, "");
  EXPECT_TRUE(rows_.locations[20].usedByHost && !rows_.locations[20].usedByDevice);
  EXPECT_TRUE(!rows_.locations[23].usedByHost && !rows_.locations[23].usedByDevice)
      << "a flow may lie on either";
}

}  // namespace
}  // namespace lacuna::analyzer
