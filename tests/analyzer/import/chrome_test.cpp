// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "import/importers.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/timeline.h"
#include "support/random_store.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

std::shared_ptr<const Store> import(std::string_view text,
                                    std::size_t windowBytes = WindowSizes().windowBytes) {
  const test::TempFile file(".json", text);
  auto store = importChrome(file.path(), {}, {.windowBytes = windowBytes});
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? *store : nullptr;
}

std::string errorOf(std::string_view text) {
  const test::TempFile file(".json", text);
  const auto store = Store::open(file.path());
  return store.ok() ? "" : store.error().message;
}

TEST(ChromeImport, ManyArgumentsOfOneEventTakeNoLongerThanAsManyOfMany) {
  constexpr int kArguments = 60'000;
  std::string args, events;
  for (int i = 0; i < kArguments; ++i) {
    args += fmt::format("{}\"arg{}\": {}", i > 0 ? ", " : "", i, i);
    events += fmt::format(
        R"({}{{"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": {}, "dur": 1, "args": {{"own{}": 1}}}})",
        i > 0 ? ", " : "", i + 9, i);
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto one =
      import(R"([{"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {)" +
             args + "}}]");
  const auto many = import("[" + events + "]");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  ASSERT_EQ(one->rows<Arg>(), static_cast<std::uint64_t>(kArguments));
  const Args read(*one);
  EXPECT_EQ(read.integer(one->row<Range>(0).args, "arg0"), 0);
  EXPECT_EQ(read.integer(one->row<Range>(0).args, "arg59999"), 59999);
  EXPECT_TRUE(
      one->wholeText(read.shape(one->row<Range>(0).args)).ends_with("\n+arg59998\n+arg59999"));
  EXPECT_EQ(Args(*many).integer(many->row<Range>(5).args, "own5"), 1);
}

TEST(ChromeImport, TextThatUnpacksToMoreThanTheBudgetIsReadUpToIt) {
  std::string text = R"([{"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 5},)";
  text.append(3'000'000, ' ');
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  const test::TempFile file(".json.zst", packed);
  OpenOptions options;
  ASSERT_TRUE(options.budget.raise("text=1M"));
  const auto store = Store::open(file.path(), options);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->rows<Range>(), 1U);
  EXPECT_THAT((*store)->warnings(), testing::Contains(testing::HasSubstr("beyond the budget")));
}

const char* const kKineto = R"JSON({
  "schemaVersion": 1, "deviceProperties": [{"id": 1, "name": "A100", "totalGlobalMem": 42, "numSms": 108}],
  "distributedInfo": {"rank": 3},
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11, "ts": 1000.250, "dur": 30,
   "args": {"External id": 7, "Sequence number": 99, "Input Dims": [[2, 3], [3, 4]], "Ev Idx": 4}},
  {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 10, "tid": 11, "ts": 1001, "dur": 3, "args": {"External id": 8}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 1005, "dur": 2,
   "args": {"External id": 5, "cbid": 211, "correlation": 5}},
  {"ph": "s", "id": 5, "pid": 10, "tid": 11, "ts": 1005, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 5, "pid": 1, "tid": 7, "ts": 1020, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 1, "tid": 7, "ts": 1020, "dur": 12,
   "args": {"External id": 7, "device": 1, "stream": 7, "correlation": 5, "registers per thread": 90,
            "shared memory": 49152, "grid": [64, 1, 1], "block": [128, 1, 1], "blocks per SM": 0.5925926}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 1, "tid": 7, "ts": 1040, "dur": 2,
   "args": {"device": 1, "stream": 7, "correlation": 6, "bytes": 92928}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 1, "tid": 7, "ts": 1050, "dur": 2, "args": {"correlation": 9}},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "fwd", "pid": 1, "tid": 7, "ts": 1020, "dur": 9, "args": {}},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 1006,
   "args": {"Bytes": -512, "Addr": 4096, "Device Type": 1, "Device Id": 1}},
  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "Traces", "tid": "Trace x", "ts": 1060},
  {"ph": "M", "name": "thread_name", "pid": 10, "tid": 11, "ts": 0, "args": {"name": "main \"x\""}},
  {"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": 0, "args": {"name": "python"}}
  ], "traceName": "x.json", "baseTimeNanoseconds": 1711964646000000000 })JSON";

TEST(ChromeImport, LeavesOutEventsWithBareWordsAndNamesTheByte) {
  const std::pair<std::string_view, std::size_t> bad[] = {{"foo", 0},
                                                          {"truely", 0},
                                                          {"1x", 0},
                                                          {"-", 0},
                                                          {"0x10", 0},
                                                          {"[1, foo]", 4},
                                                          {R"({"deep": [bar]})", 10}};
  for (const auto& [value, at] : bad) {
    for (const char* place : {"name", "pid", "ts", "dur", "other", "ph"}) {
      const std::string head = fmt::format(R"({{"traceEvents": [
  {{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}},
  {{"tid": 1, "cat": "cpu_op", "{}": )",
                                           place);
      const auto store = import(head + std::string(value) + R"(},
  {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 3, "dur": 1}]})");
      ASSERT_NE(store, nullptr);
      EXPECT_EQ(store->rows<Range>(), 2U) << value << " as " << place;
      const auto warnings = store->warnings();
      ASSERT_EQ(warnings.size(), 1U) << value << " as " << place;
      EXPECT_NE(warnings[0].find(fmt::format("byte {}: '", head.size() + at)), std::string::npos)
          << warnings[0];
      EXPECT_NE(warnings[0].find("neither a string nor a number"), std::string::npos)
          << warnings[0];
    }
  }
}

/// A [memory] event of a device.
std::string memoryEvent(int ts, int bytes, int address, int allocated, int reserved,
                        int device = 0) {
  return fmt::format(
      R"(,
  {{"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 1, "tid": 1, "ts": {}, "args":
   {{"Bytes": {}, "Addr": {}, "Device Type": 1, "Device Id": {}, "Total Allocated": {}, "Total Reserved": {}}}}})",
      ts, bytes, address, device, allocated, reserved);
}

/// 10000 bytes are held before. 300 are taken at 20, 700 of those before are given back at 30, 300
/// at 40. The allocator holds 12000, takes 4000 at 30 and gives 6000 back at 40.
std::string midTraining() {
  return R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10, "dur": 50})" +
         memoryEvent(20, 300, 4096, 10300, 12000) + memoryEvent(30, -700, 8192, 9600, 16000) +
         memoryEvent(40, -300, 4096, 9300, 10000) + "]}";
}

/// "12: 500 at 4096 of op", one a row.
std::vector<std::string> allocationsOf(const Store& store) {
  static constexpr const char* kActions[] = {"take", "give", "reserve", "release"};
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < store.rows<Allocation>(); ++i) {
    const auto row = store.row<Allocation>(i);
    const std::size_t action = row.action == MemoryAction::Allocate  ? 0
                               : row.action == MemoryAction::Free    ? 1
                               : row.action == MemoryAction::Reserve ? 2
                                                                     : 3;
    out.push_back(fmt::format("{}: {} {} at {} {}", row.timeNs / 1000, kActions[action], row.bytes,
                              row.address, store.text(row.op)));
  }
  return out;
}

TEST(ChromeImport, TotalsOfMemoryShowWhatWasHeldBefore) {
  const auto store = import(midTraining());
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(allocationsOf(*store),
              testing::UnorderedElementsAre(
                  "10: take 700 at 8192 held before the recording",
                  "10: take 9300 at 0 held before the recording",
                  "10: reserve 12000 at 0 held before the recording", "20: take 300 at 4096 op",
                  "30: give 700 at 8192 ", "30: reserve 4000 at 0 Total Reserved",
                  "40: give 300 at 4096 ", "40: release 6000 at 0 Total Reserved"));
  const auto stats = memoryStats(*store, {}, Steps{}, Selection{});
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->peakBytes, 10300U);
  EXPECT_EQ(stats->peakAtNs, 20000);
  EXPECT_EQ(stats->peakReservedBytes, 16000U);
  const auto devices = deviceMemory(*store, {});
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->front().peakBytes, 10300U);
  EXPECT_EQ(devices->front().reservedPeakBytes, 16000U);
  EXPECT_FALSE(devices->front().allocator.present) << "segments without addresses have no pieces";
}

TEST(ChromeImport, TotalsOfMemoryAreOfEachDeviceAndInTheOrderOfTime) {
  // The second device's events stand in the file before the first's, and in the wrong order.
  const auto store =
      import(R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10, "dur": 50})" +
             memoryEvent(50, 10, 512, 120, 0, 1) + memoryEvent(30, 10, 1024, 110, 0, 1) +
             memoryEvent(40, 5, 512, 5, 5000, 0) + "]}");
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(allocationsOf(*store),
              testing::UnorderedElementsAre("10: take 100 at 0 held before the recording",
                                            "10: reserve 5000 at 0 held before the recording",
                                            "30: take 10 at 1024 op", "40: take 5 at 512 op",
                                            "50: take 10 at 512 op"));
  const auto devices = deviceMemory(*store, {});
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 2U);
  for (const DeviceMemory& device : *devices) EXPECT_FALSE(device.allocator.present);
  EXPECT_EQ((*devices)[0].peakBytes + (*devices)[1].peakBytes, 5U + 120U);
}

TEST(ChromeImport, WithoutTotalsNothingWasHeldBefore) {
  EXPECT_EQ(import(kKineto)->rows<Allocation>(), 1U);
}

TEST(ChromeImport, TotalsOfMemoryGoThereAndBackAsTheEventsThatTheyWere) {
  const auto store = import(midTraining());
  const test::TempFile json(".json"), lcn(".lcn"), again(".json");
  ASSERT_TRUE(exportTrace(*store, json.path(), Format::Chrome));
  EXPECT_EQ(allocationsOf(**Store::open(json.path())), allocationsOf(*store));
  ASSERT_TRUE(exportTrace(*store, lcn.path(), Format::Lcn));
  EXPECT_EQ(allocationsOf(**Store::open(lcn.path())), allocationsOf(*store));
  ASSERT_TRUE(exportTrace(**Store::open(lcn.path()), again.path(), Format::Chrome));
  std::ifstream first(json.path()), second(again.path());
  const std::string text{std::istreambuf_iterator<char>(first), {}};
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(second), {}));
  std::size_t events = 0;
  for (std::size_t at = 0; (at = text.find("[memory]", at)) != std::string::npos; ++at) ++events;
  EXPECT_EQ(events, 3U) << text;
}

TEST(ChromeImport, TakesWordsThatStandForNumbersInArguments) {
  const auto store = import(R"({"traceEvents": [
  {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
   "args": {"a": NaN, "b": -Infinity, "c": nan, "d": null, "e": true, "f": [false, -1.5e+3, inf]}}]})");
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->rows<Range>(), 1U);
  EXPECT_TRUE(store->warnings().empty());
}

TEST(ChromeImport, TakesNegativeNumbersOfThreadsForWhatTheyWere) {
  const auto store = import(R"({"traceEvents": [
  {"ph": "X", "name": "a", "pid": 1, "tid": -1029147072, "ts": 1, "dur": 1},
  {"ph": "X", "name": "b", "pid": 1, "tid": "main", "ts": 1, "dur": 1}]})");
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->row<Thread>(0).osTid, 3265820224U);
  EXPECT_EQ(store->text(store->row<Thread>(0).name), "");
  EXPECT_EQ(store->text(store->row<Thread>(1).name), "main");
}

TEST(ChromeImport, NumbersThatJsonDoesNotHaveAreTextsInArguments) {
  const auto store = import(R"({"traceEvents": [
  {"ph": "X", "name": "[1, NaN]", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
   "args": {"a": NaN, "b": -inf, "c": [1, NaN], "d": {"NaN": -Infinity, "x\"NaN": nan}, "e": "NaN", "f": [1, 2,]}},
  {"ph": "X", "name": "again", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"c": [1, NaN], "f": [1, 2,]}}]})");
  const Args args(*store);
  EXPECT_EQ(store->text(store->row<Range>(0).name), "[1, NaN]") << "a name is what it is";
  const std::pair<std::string_view, std::string_view> expected[] = {
      {"a", "NaN"},           {"b", "-Infinity"},
      {"c", R"([1, "NaN"])"}, {"d", R"({"NaN": "-Infinity", "x\"NaN": "NaN"})"},
      {"e", "NaN"},           {"f", R"("[1, 2,]")"}};
  for (const auto& [key, value] : expected)
    EXPECT_EQ(args.text(store->row<Range>(0).args, key), value) << key;
  for (const auto& [key, value] : {expected[2], expected[5]}) {
    EXPECT_EQ(args.text(store->row<Range>(1).args, key), value) << key << ", the second time";
  }
}

TEST(ChromeImport, ValuesOfCountersThatAreNoNumbersAreCounted) {
  const std::string head = R"({"traceEvents": [
  {"ph": "C", "name": "loss", "pid": 1, "tid": 1, "ts": 1, "args": {"value": 2.5}},
  )";
  const auto store = import(
      head + R"({"ph": "C", "name": "loss", "pid": 1, "tid": 1, "ts": 2, "args": {"value": NaN}},
  {"ph": "C", "name": "loss", "pid": 1, "tid": 1, "ts": 3, "args": {"value": -Infinity, "other": "x"}},
  {"ph": "C", "name": "loss", "pid": 1, "tid": 1, "ts": 4, "args": {"value": 1.5}}]})",
      64);
  EXPECT_EQ(store->rows<CounterSample>(), 2U);
  ASSERT_EQ(store->warnings().size(), 1U);
  EXPECT_NE(store->warnings()[0].find("3 values of counters are no numbers"), std::string::npos);
  EXPECT_NE(store->warnings()[0].find(fmt::format("byte {}", head.size())), std::string::npos)
      << store->warnings()[0];
}

TEST(ChromeImport, FillsATableForEachKind) {
  const auto store = import(kKineto);
  ASSERT_EQ(store->rows<Range>(), 3U);
  const auto op = store->row<Range>(0);
  EXPECT_EQ(store->text(op.name), "aten::mm");
  EXPECT_EQ(op.startNs, 1000250);
  EXPECT_EQ(op.durNs, 30000);
  EXPECT_EQ(op.correlation, 7U);
  EXPECT_EQ(op.payload, 99U);
  EXPECT_EQ(store->text(op.text), "[[2, 3], [3, 4]]");
  const auto kernel = store->row<Kernel>(0);
  EXPECT_EQ(kernel.gridX, 64U);
  EXPECT_EQ(kernel.blockX, 128U);
  EXPECT_EQ(kernel.registersPerThread, 90);
  EXPECT_EQ(kernel.correlation, 5U);
  const auto copy = store->row<Memcpy>(0);
  EXPECT_EQ(copy.copyKind, CopyKind::HostToDevice);
  EXPECT_EQ(copy.sourceKind, MemoryKind::Pageable);
  EXPECT_EQ(copy.bytes, 92928U);
  EXPECT_EQ(store->row<Sync>(0).kind, SyncKind::Stream);
  EXPECT_EQ(store->rows<Mark>(), 1U);
  const auto freed = store->row<Allocation>(0);
  EXPECT_EQ(freed.action, MemoryAction::Free);
  EXPECT_EQ(freed.bytes, 512U);
  EXPECT_TRUE(store->warnings().empty());
}

TEST(ChromeImport, MakesProcessesThreadsDevicesAndQueues) {
  const auto store = import(kKineto);
  const auto process = store->row<Process>(0);
  EXPECT_EQ(process.osPid, 10U);
  EXPECT_EQ(process.rank, 3);
  EXPECT_EQ(store->text(process.name), "python");
  EXPECT_EQ(store->text(store->row<Thread>(0).name), "main \"x\"");
  const auto device = store->row<Device>(0);
  EXPECT_EQ(device.index, 1U);
  EXPECT_EQ(device.multiprocessors, 108U);
  EXPECT_EQ(store->text(device.name), "A100");
  const auto queue = store->row<Queue>(0);
  EXPECT_EQ(queue.nativeId, 7U);
  EXPECT_EQ(queue.device, device.id);
  EXPECT_EQ(queue.process, process.id);
  EXPECT_EQ(store->row<Kernel>(0).queue, queue.id);
  EXPECT_EQ(store->row<Kernel>(0).device, device.id);
}

/// A trace of two threads, with a loader in the one that trains.
std::string cpuOnly(std::string_view more = "", std::string_view head = "") {
  return fmt::format(R"JSON({{{} "traceEvents": [
  {{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 10, "tid": 11, "ts": 1000, "dur": 100}},
  {{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
   "pid": 10, "tid": 11, "ts": 1001, "dur": 20}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::stack", "pid": 10, "tid": 11, "ts": 1002, "dur": 10}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 10, "tid": 11, "ts": 1030, "dur": 30}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 10, "tid": 11, "ts": 1030, "dur": 20}},
  {{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddmmBackward0", "pid": 10, "tid": 11,
   "ts": 1060, "dur": 20}},
  {{"ph": "X", "cat": "cpu_op", "name": "AddmmBackward0", "pid": 10, "tid": 11, "ts": 1061, "dur": 10}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 10, "tid": 12, "ts": 1000, "dur": 90}}{}
  ]}})JSON",
                     head, more);
}

TEST(ChromeImport, WithoutAnotherDeviceTheTrainingThreadsOutermostOperatorsAreTheCpusWork) {
  const auto store = import(cpuOnly());
  ASSERT_NE(store, nullptr);
  ASSERT_EQ(store->rows<Kernel>(), 2U);
  const auto linear = store->row<Kernel>(0), backward = store->row<Kernel>(1);
  EXPECT_EQ(store->text(linear.name), "aten::linear");
  EXPECT_EQ(linear.startNs, 1'030'000);
  EXPECT_EQ(linear.durNs, 30'000);
  EXPECT_EQ(store->text(backward.name), "AddmmBackward0");
  EXPECT_EQ(backward.durNs, 20'000);
  ASSERT_EQ(store->rows<Device>(), 1U);
  EXPECT_EQ(store->row<Device>(0).kind, DeviceKind::Cpu);
  EXPECT_EQ(store->row<Queue>(0).device, store->row<Device>(0).id);
  ASSERT_EQ(store->rows<ApiCall>(), 2U);
  EXPECT_EQ(store->row<ApiCall>(1).startNs, backward.startNs);
  EXPECT_EQ(store->row<ApiCall>(1).correlation, backward.correlation);
}

TEST(ChromeImport, CollectivesOfTheHostAreTheCpusWorkOnQueuesOfTheirThreads) {
  const auto store = import(cpuOnly(R"(,
  {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 10, "tid": 11, "ts": 1062, "dur": 1},
  {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 10, "tid": 11, "ts": 1064, "dur": 1},
  {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 10, "tid": 14, "ts": 1063, "dur": 30},
  {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 10, "tid": 15, "ts": 1065, "dur": 30},
  {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 10, "tid": 15, "ts": 1096, "dur": 2})"));
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->rows<Device>(), 1U);
  EXPECT_EQ(store->rows<Queue>(), 3U);
  std::map<std::uint64_t, TimeNs> called;
  for (std::uint64_t i = 0; i < store->rows<ApiCall>(); ++i)
    called[store->row<ApiCall>(i).correlation] = store->row<ApiCall>(i).startNs;
  std::vector<std::tuple<std::uint32_t, TimeNs, TimeNs>> collectives;
  for (std::uint64_t i = 0; i < store->rows<Kernel>(); ++i) {
    const auto row = store->row<Kernel>(i);
    if (store->text(row.name) == "gloo:all_reduce")
      collectives.emplace_back(row.queue.value, row.startNs,
                               row.correlation == 0 ? 0 : called.at(row.correlation));
  }
  EXPECT_THAT(collectives, testing::ElementsAre(std::tuple(2, 1'063'000, 1'062'000),
                                                std::tuple(3, 1'065'000, 1'064'000),
                                                std::tuple(3, 1'096'000, 0)));
}

/// "name of the execution: name of its call", by start.
std::vector<std::string> collectivesOf(const Store& store) {
  std::map<std::uint64_t, std::string> calls;
  for (std::uint64_t i = 0; i < store.rows<ApiCall>(); ++i) {
    const auto call = store.row<ApiCall>(i);
    for (std::uint64_t k = 0; k < store.rows<Range>(); ++k) {
      const auto range = store.row<Range>(k);
      if (range.startNs == call.startNs) calls[call.correlation] = store.text(range.name);
    }
  }
  std::map<TimeNs, std::string> out;
  for (std::uint64_t i = 0; i < store.rows<Kernel>(); ++i) {
    const auto row = store.row<Kernel>(i);
    const std::string name(store.text(row.name));
    if (name.starts_with("gloo:")) out[row.startNs] = name + " of " + calls[row.correlation];
  }
  std::vector<std::string> texts;
  for (const auto& [at, text] : out) texts.push_back(text);
  return texts;
}

TEST(ChromeImport, ACollectiveOfTheHostIsOfTheFirstCallOfItsKind) {
  const auto event = [](const char* category, const char* name, int thread, int ts) {
    return fmt::format(R"(,
  {{"ph": "X", "cat": "{}", "name": "{}", "pid": 10, "tid": {}, "ts": {}, "dur": 1}})",
                       category, name, thread, ts);
  };
  const auto store = import(cpuOnly(event("cpu_op", "c10d::allreduce_", 11, 1062) +
                                    event("cpu_op", "c10d::broadcast_", 11, 1064) +
                                    event("cpu_op", "c10d::check_for_nan", 11, 1065) +
                                    event("cpu_op", "c10d::_reduce_scatter_base_", 11, 1066) +
                                    event("cpu_op", "c10d::_allgather_base_", 11, 1068) +
                                    // Collectives of two groups, so the broadcast does not wait for
                                    // the reduction; and one that is executed as another kind.
                                    event("user_annotation", "gloo:broadcast", 14, 1070) +
                                    event("user_annotation", "gloo:all_reduce", 15, 1072) +
                                    event("user_annotation", "gloo:all_gather", 14, 1074) +
                                    event("user_annotation", "gloo:all_reduce", 15, 1076)));
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(collectivesOf(*store),
              testing::ElementsAre("gloo:broadcast of c10d::broadcast_",
                                   "gloo:all_reduce of c10d::allreduce_",
                                   "gloo:all_gather of c10d::_allgather_base_",
                                   "gloo:all_reduce of c10d::_reduce_scatter_base_"));
}

TEST(ChromeImport, EachProcessWithOperatorsHasACpuOfItsOwn) {
  const auto store = import(cpuOnly(R"(,
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 20, "tid": 21, "ts": 1000, "dur": 5})"));
  ASSERT_NE(store, nullptr);
  ASSERT_EQ(store->rows<Device>(), 2U);
  EXPECT_EQ(store->row<Device>(1).process, store->row<Thread>(store->rows<Thread>() - 1).process);
  EXPECT_EQ(store->rows<Kernel>(), 3U);
}

TEST(ChromeImport, OperatorsOfAMachineWithAGpuAreNoDevicesWork) {
  const std::string_view launch = R"(,
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 1035, "dur": 2,
   "args": {"correlation": 5}})";
  EXPECT_EQ(import(cpuOnly(launch))->rows<Device>(), 0U);
  EXPECT_EQ(
      import(cpuOnly("", R"("deviceProperties": [{"id": 0, "name": "A100"}],)"))->rows<Device>(),
      0U);
  EXPECT_EQ(import(cpuOnly("", R"("deviceProperties": [],)"))->rows<Device>(), 1U);
}

TEST(ChromeImport, TheCpusWorkIsNoEventOfItsOwn) {
  const auto store = import(cpuOnly());
  const test::TempFile lcn(".lcn"), back(".json");
  ASSERT_TRUE(exportTrace(*store, lcn.path(), Format::Lcn));
  ASSERT_TRUE(exportTrace(**Store::open(lcn.path()), back.path(), Format::Chrome));
  std::ifstream file(back.path());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("operator call")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\"kernel\"")));
  const auto again = *Store::open(back.path());
  EXPECT_EQ(again->rows<Range>(), store->rows<Range>());
  EXPECT_EQ(again->rows<Kernel>(), store->rows<Kernel>());
}

TEST(ChromeImport, AllocationsAreOfTheOperatorThatAskedAndNotOfTheOneThatMadeRoom) {
  const std::string_view memory = R"(,
  {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 10, "tid": 11, "ts": 1033, "dur": 2},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 1034,
   "args": {"Bytes": 512, "Addr": 4096, "Device Type": 0, "Device Id": -1}},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 1075,
   "args": {"Bytes": 256, "Addr": 8192, "Device Type": 0, "Device Id": -1}},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 1076,
   "args": {"Bytes": -512, "Addr": 4096, "Device Type": 0, "Device Id": -1}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 10, "tid": 11, "ts": 1090, "dur": 2},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 1091,
   "args": {"Bytes": 64, "Addr": 4096, "Device Type": 0, "Device Id": -1}},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 1095,
   "args": {"Bytes": 32, "Addr": 4096, "Device Type": 0, "Device Id": -1}})";
  const auto store = import(cpuOnly(memory));
  ASSERT_NE(store, nullptr);
  std::vector<std::string> operators;
  for (std::uint64_t i = 0; i < store->rows<Allocation>(); ++i)
    operators.emplace_back(store->text(store->row<Allocation>(i).op));
  EXPECT_THAT(operators,
              testing::ElementsAre("aten::addmm", "AddmmBackward0", "", "aten::empty", ""));
}

/// An allocation or, below 0, its end, of the thread of cpuOnly() that trains.
std::string hostMemory(double ts, int bytes, int address) {
  return fmt::format(
      R"(,
  {{"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": {},
   "args": {{"Bytes": {}, "Addr": {}, "Device Type": 0, "Device Id": -1, "Total Allocated": 9000}}}})",
      ts, bytes, address);
}

std::map<std::uint64_t, MemoryRole> rolesByAddress(const Store& store) {
  std::map<std::uint64_t, MemoryRole> roles;
  for (std::uint64_t i = 0; i < store.rows<Allocation>(); ++i) {
    const auto row = store.row<Allocation>(i);
    if (row.action == MemoryAction::Allocate && row.address != 0) roles[row.address] = row.role;
  }
  return roles;
}

TEST(ChromeImport, MemoryOfTheHostIsTheCpusThatTrainsOnIt) {
  const auto store = import(cpuOnly(hostMemory(1031, 512, 4096) + hostMemory(1075, -64, 8192)));
  ASSERT_NE(store, nullptr);
  ASSERT_GT(store->rows<Allocation>(), 2U) << "what was held before, too";
  for (std::uint64_t i = 0; i < store->rows<Allocation>(); ++i)
    EXPECT_EQ(store->row<Allocation>(i).device, store->row<Device>(0).id) << i;
  // With two processes, nothing shows whose the memory without a thread is.
  const auto two = import(cpuOnly(R"(,
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 20, "tid": 21, "ts": 1000, "dur": 5})" +
                                  hostMemory(1031, 512, 4096)));
  for (std::uint64_t i = 0; i < two->rows<Allocation>(); ++i) {
    const auto row = two->row<Allocation>(i);
    EXPECT_EQ(row.device, row.thread ? two->row<Device>(0).id : DeviceId()) << i;
  }
}

TEST(ChromeImport, MemoryHasARoleByItsStackAndItsLifetime) {
  const std::string_view optimizer = R"(,
  {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#Adam.step", "pid": 10, "tid": 11, "ts": 1085, "dur": 10},
  {"ph": "X", "cat": "cpu_op", "name": "aten::zeros_like", "pid": 10, "tid": 11, "ts": 1086, "dur": 4})";
  const auto store = import(cpuOnly(
      std::string(optimizer) + hostMemory(1003, 8, 1) +   // in the loader's wait
      hostMemory(1040, 8, 2) + hostMemory(1070, -8, 2) +  // until the backward pass
      hostMemory(1041, 8, 3) + hostMemory(1055, -8, 3) +  // within the operator
      hostMemory(1042, 8, 4) + hostMemory(1090, -8, 4) +  // beyond the optimizer's begin
      hostMemory(1065, 8, 5) + hostMemory(1066, 8, 6) +   // in the backward pass, one within a call
      hostMemory(1068, -8, 6) +                           //
      hostMemory(1087, 8, 7) + hostMemory(1088, 8, 8) +   // in the optimizer, one for good
      hostMemory(1094, -8, 8) +                           //
      hostMemory(1098, 8, 9)));                           // by nobody that is known
  using enum MemoryRole;
  EXPECT_THAT(
      rolesByAddress(*store),
      testing::ElementsAre(std::pair(1, Input), std::pair(2, Activation), std::pair(3, Workspace),
                           std::pair(4, Other), std::pair(5, Gradient), std::pair(6, Workspace),
                           std::pair(7, Optimizer), std::pair(8, Workspace), std::pair(9, Other)));
}

TEST(ChromeImport, WhatACheckpointComputesAgainIsNoGradient) {
  const auto store = import(cpuOnly(R"(,
  {"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: CheckpointFunctionBackward", "pid": 10,
   "tid": 11, "ts": 1082, "dur": 10},
  {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 10, "tid": 11, "ts": 1083, "dur": 2})" +
                                    hostMemory(1084, 8, 1)));
  EXPECT_EQ(rolesByAddress(*store).at(1), MemoryRole::Other);
}

TEST(ChromeImport, RocmNamesMakeTheSameTables) {
  const auto store = import(R"JSON({"traceEvents": [
    {"ph":"X","cat":"hip_runtime","name":"hipLaunchKernel","pid":5,"tid":5,"ts":1,"dur":2,"args":{"correlation":3}},
    {"ph":"X","cat":"Kernel","name":"Cijk_Ailk","pid":2,"tid":1,"ts":4,"dur":2,"args":{"correlation":3,"grid":[2,1,1]}},
    {"ph":"X","cat":"gpu_memcpy","name":"CopyHostToDevice","pid":2,"tid":1,"ts":7,"dur":1,"args":{"bytes":64}}]})JSON");
  EXPECT_EQ(store->row<Device>(0).kind, DeviceKind::Rocm);
  EXPECT_EQ(store->row<Device>(0).index, 2U);
  EXPECT_EQ(store->row<ApiCall>(0).kind, ApiKind::Runtime);
  EXPECT_EQ(store->row<Kernel>(0).gridX, 2U);
  EXPECT_EQ(store->row<Memcpy>(0).copyKind, CopyKind::HostToDevice);
}

TEST(ChromeImport, AnOperatorIsNoLaunchOfTheWorkWithItsNumber) {
  std::string events;
  for (int i = 0; i < 10; ++i) {
    const int ts = 1000 * i;
    events += fmt::format(
        R"({}{{"ph":"X","cat":"cpu_op","name":"op","pid":50,"tid":50,"ts":{},"dur":9,"args":{{"External id":{}}}}},
{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":30,"args":{{"External id":{},"correlation":{}}}}})",
        i == 0 ? "" : ",\n", ts, i + 1, ts + 20, i + 1, 10 - i);
    if (i % 2 == 0) continue;  // the call was not recorded
    events += fmt::format(
        R"(,
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":50,"tid":50,"ts":{},"dur":5,"args":{{"correlation":{}}}}})",
        ts + 1, 10 - i);
  }
  const auto store = import("{\"traceEvents\": [" + events + "]}");
  ASSERT_EQ(store->rows<Kernel>(), 10U);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto launch = store->links().launchOf({EventRef::Table::Kernel, i});
    EXPECT_EQ(launch, i % 2 == 0 ? EventRef() : (EventRef{EventRef::Table::ApiCall, i / 2})) << i;
  }
  const auto timeline = loadTimeline(*store, {});
  ASSERT_TRUE(timeline);
  EXPECT_EQ(
      std::ranges::count_if(timeline->host, [](const HostSpan& span) { return span.launches; }), 5);
}

TEST(ChromeImport, CallsOfIntelsRuntimeAreCalls) {
  const auto store = import(R"({"traceEvents": [
    {"ph":"X","cat":"xpu_runtime","name":"urEnqueueKernelLaunch","pid":1,"tid":2,"ts":5,"dur":1,"args":{"correlation":9}},
    {"ph":"X","cat":"xpu_driver","name":"zeCommandListAppend","pid":1,"tid":2,"ts":7,"dur":1,"args":{"correlation":10}},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":8,"dur":1,"args":{"correlation":9}}]})");
  ASSERT_EQ(store->rows<ApiCall>(), 2U);
  EXPECT_EQ(store->row<ApiCall>(0).kind, ApiKind::Runtime);
  EXPECT_EQ(store->row<ApiCall>(1).kind, ApiKind::Driver);
  EXPECT_EQ(store->links().launchOf({EventRef::Table::Kernel, 0}),
            (EventRef{EventRef::Table::ApiCall, 0}));
}

TEST(ChromeImport, NestsRangesAndKeepsTheBaseTime) {
  const auto store = import(kKineto);
  const auto names = store->column<&Range::name>();
  const auto inner = std::ranges::find(names, store->find("inner")) - names.begin();
  EXPECT_EQ(store->row<Range>(static_cast<std::uint64_t>(inner)).depth, 1);
  const auto clock = store->row<Clock>(0);
  EXPECT_EQ(clock.realtimeNs - clock.timeNs, 1711964646000000000);
}

TEST(ChromeImport, FoldsFlowsThatRepeatACorrelationAndKeepsTheOthers) {
  const auto store = import(R"({"traceEvents": [
    {"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":2,"ts":5,"dur":1,"args":{"correlation":9}},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":8,"dur":1,"args":{"correlation":9}},
    {"ph":"s","id":9,"pid":1,"tid":2,"ts":5,"cat":"ac2g","name":"ac2g"},
    {"ph":"f","id":9,"pid":0,"tid":7,"ts":8,"cat":"ac2g","name":"ac2g","bp":"e"},
    {"ph":"f","id":9,"pid":0,"tid":7,"ts":8.5,"cat":"ac2g","name":"ac2g","bp":"e"},
    {"ph":"s","id":1,"pid":1,"tid":2,"ts":3,"cat":"fwdbwd","name":"fwdbwd"}]})");
  ASSERT_EQ(store->rows<Flow>(), 2U);
  EXPECT_TRUE(store->row<Flow>(0).thread);
  EXPECT_TRUE(store->row<Flow>(1).queue);
  EXPECT_FALSE(store->row<Flow>(1).thread);
  EXPECT_EQ(store->text(store->row<ArgSet>(0).shape), "=correlation\n~s|ac2g|ac2g|");
  EXPECT_EQ(store->text(store->row<ArgSet>(1).shape), "=correlation\n~f|ac2g|ac2g|!bp=\"e\"");
}

TEST(ChromeImport, KeepsOnlyTheArgumentsThatNoColumnRepeats) {
  const auto store = import(kKineto);
  std::vector<std::string> keys;
  for (const StringId key : store->column<&Arg::key>()) keys.emplace_back(store->text(key));
  std::ranges::sort(keys);
  EXPECT_EQ(keys, (std::vector<std::string>{"Device Type", "Ev Idx", "External id", "cbid"}));
  const auto kernel = store->row<Kernel>(0);
  const auto ids = store->column<&ArgSet::id>();
  const auto set = store->row<ArgSet>(
      static_cast<std::uint64_t>(std::ranges::find(ids, kernel.args) - ids.begin()));
  EXPECT_EQ(store->text(set.shape),
            "+External id\n=device\n=stream\n=correlation\n=registers per thread\n=shared "
            "memory\n=grid\n=block\n=blocks per SM\n"
            "~f|ac2g|ac2g|!bp=\"e\"");
}

TEST(ChromeImport, AGraphsWorkHasItsNumbersInColumns) {
  const auto store = import(R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
     "args": {"stream": 7, "device": 0, "correlation": 5, "graph id": 3, "graph node id": 12884901889}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "pid": 0, "tid": 7, "ts": 4, "dur": 2,
     "args": {"stream": 7, "device": 0, "correlation": 5, "graph id": 3, "graph node id": 12884901890}},
    {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 8, "dur": 2,
     "args": {"stream": 7, "device": 0, "correlation": 6, "graph id": 0, "graph node id": 0}}]})");
  const auto kernel = store->row<Kernel>(0);
  EXPECT_EQ(kernel.graphId, 3U);
  EXPECT_EQ(kernel.graphNodeId, 12884901889U);
  EXPECT_EQ(store->row<Kernel>(1).graphId, 0U);
  const auto copy = store->row<Memcpy>(0);
  EXPECT_EQ(copy.graphId, 3U);
  EXPECT_EQ(copy.graphNodeId, 12884901890U);
  EXPECT_EQ(store->rows<Arg>(), 0U) << "columns repeat all arguments";
}

std::string manyEvents(int count) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < count; ++i) {
    text += (i > 0 ? ",\n" : "") + std::string(R"({"ph":"X","cat":"cpu_op","name":"op)") +
            std::to_string(i % 7) + R"(","pid":1,"tid":)" + std::to_string(i % 3) + R"(,"ts":)" +
            std::to_string(i * 10) + R"(,"dur":5,"args":{"list":[{"name":"}, {\"ph\"","n":)" +
            std::to_string(i) + R"(},{"name":2}],"Ev Idx":)" + std::to_string(i) + "}}";
  }
  return text + R"(], "traceName": "t"})";
}

TEST(ChromeImport, AFileReadInSmallPiecesIsTheSameAsInOne) {
  const std::string text = manyEvents(5000);
  const auto full = import(text);
  ASSERT_EQ(full->rows<Range>(), 5000U);
  for (const std::size_t windowBytes : {64, 300, 1000, 4096}) {
    const auto pieces = import(text, windowBytes);
    ASSERT_EQ(pieces->rows<Range>(), 5000U) << windowBytes;
    EXPECT_TRUE(pieces->warnings().empty()) << pieces->warnings().front();
    for (std::uint64_t i = 0; i < 5000; i += 97) {
      EXPECT_EQ(pieces->row<Range>(i).startNs, full->row<Range>(i).startNs);
      EXPECT_EQ(pieces->text(pieces->row<Range>(i).name), full->text(full->row<Range>(i).name));
    }
    EXPECT_EQ(pieces->rows<Arg>(), full->rows<Arg>());
    EXPECT_TRUE(pieces->find("chrome.traceName"));
  }
}

TEST(ChromeImport, APieceMayEndAtAnyByte) {
  const auto full = import(kKineto);
  for (std::size_t windowBytes = 1; windowBytes < 700; ++windowBytes) {
    const auto pieces = import(kKineto, windowBytes);
    ASSERT_TRUE(pieces->warnings().empty()) << windowBytes << ": " << pieces->warnings().front();
    forEachTable([&]<class Row>() {
      // Numbers of texts follow the order in which pieces were read; difference() compares the
      // texts themselves.
      EXPECT_EQ(test::difference<Row>(*full, *pieces), "") << windowBytes;
    });
  }
}

TEST(ChromeImport, ATruncatedFileGivesItsCompleteEventsAndTheByteWhereItEnds) {
  const std::string text = manyEvents(100);
  for (std::size_t cut = text.size() / 2; cut < text.size() / 2 + 150; ++cut) {
    const auto store = import(std::string_view(text).substr(0, cut));
    ASSERT_GE(store->rows<Range>(), 48U);
    ASSERT_FALSE(store->warnings().empty());
    EXPECT_NE(store->warnings().back().find("ends early"), std::string::npos)
        << store->warnings().back();
  }
}

TEST(ChromeImport, ABareListMayLeaveOutItsLastBracket) {
  const std::string event = R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2})";
  for (const char* end : {"", "\n", ",\n", "]", "\n]\n"}) {
    const auto store = import("[\n" + event + ",\n" + event + end);
    EXPECT_EQ(store->rows<Range>(), 2U);
    EXPECT_THAT(store->warnings(), testing::IsEmpty()) << end;
  }
  EXPECT_THAT(import("[" + event + ", {\"ph\": \"X\"")->warnings(),
              testing::ElementsAre(testing::HasSubstr("the file ends early")));
}

TEST(ChromeImport, WhatStandsBehindTheTraceIsNamedByItsPlace) {
  const std::string list = R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}])";
  const std::string one = "{\"traceEvents\": " + list + "}",
                    more = "{\"traceEvents\": " + list + ", \"a\": 1}";
  const auto warnings = [](const std::string& text) { return import(text)->warnings(); };
  const auto place = [](std::size_t at, const char* what) {
    return testing::ElementsAre(
        fmt::format("byte {}: what stands behind the event list {}", at, what));
  };
  EXPECT_THAT(warnings(one + "\n" + one), place(one.size() - 1, "was left out"));
  EXPECT_THAT(warnings(list + "xyz"), place(list.size(), "was left out"));
  EXPECT_THAT(warnings(more + more),
              place(more.find(", \"a\""), "is not well-formed JSON and was left out"));
  EXPECT_THAT(warnings(more + "\n"), testing::IsEmpty());
}

TEST(ChromeImport, FilesThatStandForOthersAreReported) {
  EXPECT_THAT(errorOf("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
              testing::HasSubstr("git lfs pull"));
  EXPECT_THAT(errorOf(R"({"schema": "1.1.1-chakra.0.0.4", "pid": 9, "nodes": [
                         {"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1}]})"),
              testing::HasSubstr("is an execution trace of PyTorch"));
}

TEST(ChromeImport, AMalformedEventIsLeftOutAndNamedByItsPlace) {
  std::string text = manyEvents(100);
  const std::size_t at = text.find("\"op3\"");
  text.replace(at - 1, 1, ";");
  const auto store = import(text);
  EXPECT_EQ(store->rows<Range>(), 99U);
  ASSERT_EQ(store->warnings().size(), 1U);
  EXPECT_EQ(store->warnings().front().rfind(fmt::format("byte {}: ", text.rfind("{\"ph\"", at)), 0),
            0U);
}

/// Where the name of the event in the middle of manyEvents(3000) begins.
std::size_t middleName(const std::string& text) {
  return text.rfind("\"op2\"", text.find("\"ts\":15000,")) + 1;
}

TEST(ChromeImport, ABadByteInANameCostsThatByteAlone) {
  for (const auto& [bad, what] :
       {std::pair("\xff", "0xff is no UTF-8"), std::pair("\t", "0x09 is bare inside a string"),
        std::pair("\\\n", "0x0a is bare inside a string")}) {
    for (const std::size_t piece : {std::size_t{4} << 20, std::size_t{4000}}) {
      std::string text = manyEvents(3000);
      const std::size_t at = middleName(text) + 1;
      text.insert(at, bad);
      const auto store = import(text, piece);
      ASSERT_NE(store, nullptr);
      EXPECT_EQ(store->rows<Range>(), 3000U) << what;
      ASSERT_EQ(store->warnings().size(), 1U) << what;
      EXPECT_EQ(store->warnings().front().rfind(fmt::format("byte {}: {}", at, what), 0), 0U)
          << store->warnings().front();
      EXPECT_TRUE(store->find(bad[0] == '\xff' ? "o?p2"
                              : bad[0] == '\t' ? "o p2"
                                               : "o  p2"))
          << what;
    }
  }
}

TEST(ChromeImport, ManyBadBytesAreCountedAndNotAllNamed) {
  std::string text = manyEvents(500);
  for (std::size_t at = text.find("\"op"); at != std::string::npos; at = text.find("\"op", at + 1))
    text[at + 1] = '\xe9';
  const auto store = import(text, 4000);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->rows<Range>(), 500U);
  ASSERT_EQ(store->warnings().size(), 9U);
  EXPECT_NE(store->warnings().back().find("492 more events"), std::string::npos)
      << store->warnings().back();
}

TEST(ChromeImport, AStringWithoutAnEndCostsItsEventAndTheNext) {
  for (const char between : {'\n', ' '}) {
    std::string text = manyEvents(3000);
    std::ranges::replace(text, '\n', between);
    const std::size_t broken = middleName(text) + 3;
    text.erase(broken, text.find("{\"ph\"", broken) - broken - 1);
    const auto store = import(text);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->rows<Range>(), 2998U);
    ASSERT_EQ(store->warnings().size(), 1U);
    EXPECT_NE(store->warnings().front().find("not well-formed"), std::string::npos)
        << store->warnings().front();
  }
}

TEST(ChromeImport, ABadByteAroundTheEventsIsRepairedToo) {
  const auto store =
      import("{\"schemaVersion\": 1, \"user\": \"J\xf6rg\", \"distributedInfo\": {\"rank\": 3}, " +
             manyEvents(5).substr(1));
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->row<Process>(0).rank, 3);
  EXPECT_TRUE(store->warnings().empty());
}

TEST(ChromeImport, ReadsGzAndZstdAlsoWhenTheyEndEarly) {
  const std::string text = manyEvents(2000);
  std::string gz(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(gz.data());
  stream.avail_out = static_cast<uInt>(gz.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  gz.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_EQ(import(gz)->rows<Range>(), 2000U);
  const auto cut = import(std::string_view(gz).substr(0, gz.size() / 2));
  EXPECT_GT(cut->rows<Range>(), 100U);
  EXPECT_FALSE(cut->warnings().empty());
  // All of the text, but not the checksum after it.
  const auto unsure = import(std::string_view(gz).substr(0, gz.size() - 4));
  ASSERT_EQ(unsure->warnings().size(), 1U);
  EXPECT_EQ(unsure->warnings().front(),
            fmt::format("the compressed data ends early, after {} bytes of text", text.size()));

  std::string zst(ZSTD_compressBound(text.size()), '\0');
  zst.resize(ZSTD_compress(zst.data(), zst.size(), text.data(), text.size(), 3));
  EXPECT_EQ(import(zst)->rows<Range>(), 2000U);
  EXPECT_TRUE(import(gz + std::string(512, '\0'))->warnings().empty()) << "padding is no damage";
}

TEST(ChromeImport, CompressedDataWithoutAByteOfTextGetsAReason) {
  using namespace std::string_view_literals;
  EXPECT_NE(errorOf("\x1f\x8b\x08\0\0\0\0\0\0\x03"sv)
                .find("the compressed data ends early, after 0 bytes"),
            std::string::npos);
  // A frame that declares a window of 256 MiB.
  EXPECT_NE(errorOf("\x28\xb5\x2f\xfd\x00\x90\x11\0\0{}"sv).find("window of more than 128 MiB"),
            std::string::npos);
  EXPECT_NE(errorOf("").find("is empty"), std::string::npos);
}

TEST(ChromeImport, BeginsFindTheirEndsInTheOrderOfTime) {
  // A thread hands its events over before the one that began the range does.
  const auto store = import(R"([
    {"ph":"e","cat":"x","id":"0x1","name":"async","pid":1,"tid":3,"ts":12},
    {"ph":"b","cat":"x","id":"0x1","name":"async","pid":1,"tid":2,"ts":3},
    {"ph":"B","name":"second","pid":1,"tid":2,"ts":30}, {"ph":"E","pid":1,"tid":2,"ts":35},
    {"ph":"B","name":"first","pid":1,"tid":2,"ts":20}, {"ph":"E","pid":1,"tid":2,"ts":28}])");
  ASSERT_EQ(store->rows<Range>(), 3U);
  const TimeNs lengths[] = {9000, 8000, 5000};
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(store->row<Range>(i).durNs, lengths[i]) << i;
    EXPECT_EQ(store->row<Range>(i).flags, 0) << i;
  }
  EXPECT_EQ(store->row<Thread>(store->row<Range>(0).endThread.value - 1).osTid, 3U);
  EXPECT_TRUE(store->warnings().empty());
}

TEST(ChromeImport, PairsThatAreWrittenTogetherBelongTogether) {
  // As of two processes that count their ids alike.
  const auto store = import(R"([
    {"ph":"b","cat":"x","id":"0x1","name":"one","pid":1,"tid":1,"ts":1},
    {"ph":"e","cat":"x","id":"0x1","name":"one","pid":1,"tid":1,"ts":10},
    {"ph":"b","cat":"x","id":"0x1","name":"two","pid":2,"tid":2,"ts":3},
    {"ph":"e","cat":"x","id":"0x1","name":"two","pid":2,"tid":2,"ts":14}])");
  ASSERT_EQ(store->rows<Range>(), 2U);
  EXPECT_EQ(store->row<Range>(0).durNs, 9000);
  EXPECT_EQ(store->row<Range>(1).durNs, 11'000);
}

TEST(ChromeImport, ARangeWithoutAnEndRunsToTheLastMomentOfAnything) {
  const auto store = import(R"([
    {"ph":"B","name":"open","pid":1,"tid":2,"ts":10},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":15,"dur":85}])");
  EXPECT_EQ(store->row<Range>(0).durNs, 90'000);
  EXPECT_EQ(store->row<Range>(0).flags, kUnfinished);
}

TEST(ChromeImport, CountersOfOneNameAreDistinguishedByTheirIds) {
  const auto store = import(R"([
    {"ph":"C","name":"queue","id":"a","pid":1,"tid":2,"ts":1,"args":{"n": 1}},
    {"ph":"C","name":"queue","id":"b","pid":1,"tid":2,"ts":2,"args":{"n": 100}},
    {"ph":"C","name":"queue","id":"a","pid":1,"tid":2,"ts":3,"args":{"n": 2}}])");
  ASSERT_EQ(store->rows<CounterTrack>(), 2U);
  EXPECT_EQ(store->text(store->row<CounterTrack>(0).name), "queue[a]");
  EXPECT_EQ(store->text(store->row<CounterTrack>(1).name), "queue[b]");
}

TEST(ChromeImport, BeginsFindTheirEndsAndCountersTheirTracks) {
  const auto store = import(R"([
    {"ph":"B","name":"outer","pid":1,"tid":2,"ts":1}, {"ph":"B","name":"inner","pid":1,"tid":2,"ts":2},
    {"ph":"E","pid":1,"tid":2,"ts":4}, {"ph":"E","pid":1,"tid":2,"ts":9}, {"ph":"B","name":"open","pid":1,"tid":2,"ts":10},
    {"ph":"b","cat":"x","id":"0x1","name":"async","pid":1,"tid":2,"ts":3}, {"ph":"e","cat":"x","id":"0x1","pid":1,"tid":3,"ts":12},
    {"ph":"C","name":"mem","pid":1,"tid":2,"ts":5,"args":{"bytes": 12.5}}])",
                            64);
  ASSERT_EQ(store->rows<Range>(), 4U);
  EXPECT_EQ(store->row<Range>(0).durNs, 8000);
  EXPECT_EQ(store->row<Range>(1).durNs, 2000);
  EXPECT_EQ(store->row<Range>(1).depth, 1);
  EXPECT_EQ(store->row<Range>(2).kind, RangeKind::StartEnd);
  EXPECT_EQ(store->row<Range>(2).durNs, 9000);
  EXPECT_TRUE(store->row<Range>(2).endThread);
  EXPECT_EQ(store->row<Range>(3).flags, kUnfinished);
  EXPECT_EQ(store->row<CounterSample>(0).value, 12.5);
  EXPECT_EQ(store->text(store->row<CounterTrack>(0).unit), "bytes");
}

TEST(ChromeImport, EndsFindTheBeginWithTheirOwnIdOrAreCounted) {
  const auto store = import(R"({"traceEvents": [
    {"ph":"b","name":"A","cat":"net","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":10},
    {"ph":"b","name":"B","cat":"net","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":11},
    {"ph":"b","name":"C","cat":"net","id2":{"local":"0x1"},"pid":2,"tid":1,"ts":12},
    {"ph":"e","name":"A","cat":"net","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":20},
    {"ph":"e","name":"B","cat":"net","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":100},
    {"ph":"e","name":"C","cat":"net","id2":{"local":"0x1"},"pid":2,"tid":1,"ts":30},
    {"ph":"E","pid":1,"tid":2,"ts":9}]})");
  ASSERT_EQ(store->rows<Range>(), 3U);
  EXPECT_EQ(store->row<Range>(0).durNs, 10000);
  EXPECT_EQ(store->row<Range>(1).durNs, 89000);
  EXPECT_EQ(store->row<Range>(2).durNs, 18000);
  EXPECT_EQ(store->warnings(),
            std::vector<std::string>{"1 ends of ranges have no begin and were left out"});
}

TEST(ChromeImport, ArgumentsOfAnEndJoinThoseOfItsBegin) {
  for (const std::size_t piece : {std::size_t{4} << 20, std::size_t{64}}) {
    const auto store = import(R"({"traceEvents": [
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":1,"args":{"a":1,"b":"old"}},
    {"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3,"args":{"c":3}},
    {"ph":"B","name":"empty","pid":1,"tid":1,"ts":4,"args":{}},
    {"ph":"E","pid":1,"tid":1,"ts":5,"tts":9,"args":{}},
    {"ph":"E","name":"outer","pid":1,"tid":1,"ts":9,"args":{"b":"new","c":4}},
    {"ph":"E","pid":1,"tid":1,"ts":10,"args":{"c":5}}]})",
                              piece);
    const Args args(*store);
    const auto outer = store->row<Range>(0).args;
    EXPECT_EQ(args.integer(outer, "a"), 1);
    EXPECT_EQ(args.text(outer, "b"), "new");
    EXPECT_EQ(args.integer(outer, "c"), 4);
    EXPECT_EQ(store->text(args.shape(outer)), "+a\n+b\n+c");
    EXPECT_EQ(args.integer(store->row<Range>(1).args, "c"), 3);
    EXPECT_EQ(store->text(args.shape(store->row<Range>(2).args)), "!{}");
    EXPECT_EQ(store->rows<Arg>(), 4U) << "an end without a begin has none";
    EXPECT_EQ(store->rows<ArgSet>(), 3U);
  }
}

TEST(ChromeImport, AsynchronousEventsOfBothFormsAreRangesAndMarks) {
  const auto store = import(R"({"traceEvents": [
    {"ph":"b","cat":"net","name":"get","id":"0x1","pid":1,"tid":1,"ts":1,"args":{"url":"x"}},
    {"ph":"n","cat":"net","name":"redirect","id":"0x1","pid":1,"tid":2,"ts":2,"args":{"to":"y"}},
    {"ph":"e","cat":"net","name":"get","id":"0x1","pid":1,"tid":2,"ts":4,"args":{"status":200}},
    {"ph":"S","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":10},
    {"ph":"S","cat":"net","name":"B","id":7,"pid":1,"tid":1,"ts":11},
    {"ph":"T","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":12,"args":{"step":"half"}},
    {"ph":"p","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":13,"args":{"step":"most"}},
    {"ph":"F","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":15},
    {"ph":"F","cat":"net","name":"B","id":7,"pid":1,"tid":1,"ts":17},
    {"ph":"O","name":"object","id":1,"pid":1,"tid":1,"ts":18}]})");
  ASSERT_EQ(store->rows<Range>(), 3U);
  const Args args(*store);
  const std::pair<std::string_view, TimeNs> expected[] = {{"get", 3000}, {"A", 5000}, {"B", 6000}};
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto row = store->row<Range>(i);
    EXPECT_EQ(store->text(row.name), expected[i].first);
    EXPECT_EQ(row.durNs, expected[i].second) << i;
    EXPECT_EQ(row.kind, RangeKind::StartEnd) << i;
  }
  EXPECT_EQ(args.text(store->row<Range>(0).args, "url"), "x");
  EXPECT_EQ(args.integer(store->row<Range>(0).args, "status"), 200);
  ASSERT_EQ(store->rows<Mark>(), 3U);
  EXPECT_EQ(store->text(store->row<Mark>(0).name), "redirect");
  EXPECT_EQ(args.text(store->row<Mark>(1).args, "step"), "half");
  EXPECT_EQ(store->warnings(),
            std::vector<std::string>{
                "events of phases that lacuna does not read are kept as text only: O (1)"});
}

TEST(ChromeImport, AByteOrderMarkIsNoPartOfTheText) {
  const test::TempFile file(".json", "\xef\xbb\xbf" + manyEvents(5));
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->rows<Range>(), 5U);
  EXPECT_TRUE((*store)->warnings().empty());
}

TEST(ChromeImport, WhatIsNoTraceIsRefusedInWords) {
  EXPECT_NE(errorOf("").find("empty"), std::string::npos);
  EXPECT_NE(errorOf("hello").find("not a trace"), std::string::npos);
  EXPECT_NE(errorOf(R"({"a": [1, 2]})").find("no event list"), std::string::npos);
  EXPECT_NE(errorOf(R"({"traceEvents": []})").find("no events"), std::string::npos);
  EXPECT_NE(errorOf(R"({"traceEvents": [{"ph": "X" "name"}]})").find("no events: byte 17: "),
            std::string::npos);
  EXPECT_NE(Store::open("/nonexistent/x.json").error().message.find("cannot be opened"),
            std::string::npos);
  EXPECT_NE(Store::open("/tmp").error().message.find("folder"), std::string::npos);
}

TEST(ChromeImport, AnEndlessEventEndsReadingInBoundedMemory) {
  const std::string event =
      R"({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1})";
  // Blanks, a text, and lists in lists, each longer than an event may be here, and what stands
  // after them.
  for (const std::string& endless :
       {std::string(400'000, ' '), R"(, {"name": ")" + std::string(400'000, 'x'),
        ", {\"a\": " + std::string(400'000, '[')}) {
    const test::TempFile file(".json", event + endless + manyEvents(2000));
    const auto store = importChrome(file.path(), {}, {.windowBytes = 1000, .mostBytes = 100'000});
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ((*store)->rows<Range>(), 1U);
    const auto warnings = (*store)->warnings();
    EXPECT_TRUE(std::ranges::any_of(warnings, [](const std::string& warning) {
      return warning.find("goes on for more than 100000 bytes") != std::string::npos;
    })) << fmt::format("{}", fmt::join(warnings, "\n"));
  }
}

TEST(ChromeImport, CanBeCancelled) {
  const test::TempFile file(".json", manyEvents(2000));
  OpenOptions options;
  options.progress = [](double) { return false; };
  EXPECT_FALSE(importChrome(file.path(), options, {.windowBytes = 1000}).ok());
}

}  // namespace
}  // namespace lacuna::analyzer
