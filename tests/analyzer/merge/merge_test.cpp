// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/writer.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// A rank of a job: steps with a few kernels and collectives, on a clock of its own.
struct Rank {
  std::int64_t skewNs = 0;
  bool collectives = true;
  bool markers = true;
  TimeNs realtimeNs = 0;  ///< of the job's time 0; 0 for none
  unsigned lostEvery = 0;
  std::string uuid{};
  std::string marker = "ProfilerStep#";

  [[nodiscard]] std::shared_ptr<const Store> make(unsigned seed) const {
    StoreBuilder builder;
    std::mt19937 random(seed);
    builder.append(Process{ProcessId(1), {}, 100, skewNs, skewNs + 1000000, {}, {}, -1, -1});
    builder.append(Thread{ThreadId(1), ProcessId(1), 100, skewNs, skewNs + 1000000, {}});
    builder.append(Device{DeviceId(1), DeviceKind::Cuda, 0, {}, {}, builder.intern(uuid)});
    builder.append(Queue{QueueId(1), DeviceId(1), ProcessId(1), 7, {}});
    if (realtimeNs != 0) builder.append(Clock{skewNs, realtimeNs, 0, {}});
    unsigned count = 0;
    for (int step = 0; step < 20; ++step) {
      const TimeNs base = 1000 + step * 40000;
      if (markers) {
        Range range;
        // Ranks reach their steps at somewhat different times.
        range.startNs = base + skewNs + static_cast<TimeNs>(random() % 300);
        range.durNs = 35000;
        range.thread = ThreadId(1);
        range.name = builder.intern(marker + std::to_string(step));
        builder.append(range);
      }
      for (int k = 0; k < 3; ++k) {
        if (lostEvery != 0 && ++count % lostEvery == 0) continue;
        Kernel kernel;
        // Ranks arrive at different times and leave together.
        const TimeNs end = base + 10000 + k * 8000 + static_cast<TimeNs>(random() % 50);
        kernel.durNs = 1000 + static_cast<TimeNs>(random() % 4000);
        kernel.startNs = end - kernel.durNs + skewNs;
        kernel.queue = QueueId(1);
        kernel.device = DeviceId(1);
        kernel.name = builder.intern(collectives ? "ncclDevKernel_AllReduce_Sum_f32" : "gemm");
        kernel.args = ArgSetId(static_cast<std::uint32_t>(builder.columns<ArgSet>().id.size()) + 1);
        builder.append(ArgSet{kernel.args, builder.intern("+Group size")});
        builder.append(Arg{kernel.args, ArgScope::Argument, builder.intern("Group size"),
                           ArgType::Text, builder.intern("eight").value});
        builder.append(kernel);
      }
    }
    return builder.build();
  }
};

Merged merge(std::initializer_list<Rank> ranks) {
  std::vector<std::shared_ptr<const Store>> stores;
  for (const Rank& rank : ranks)
    stores.push_back(rank.make(static_cast<unsigned>(stores.size()) + 1));
  auto merged = mergeTraces(stores);
  EXPECT_TRUE(merged);
  return merged ? *merged : Merged();
}

TEST(Merge, SkewedRanksAreAlignedOnTheirCollectives) {
  const auto merged = merge({{.skewNs = 0}, {.skewNs = 5'000'000'000}, {.skewNs = -123'456'789}});
  ASSERT_EQ(merged.alignments.size(), 3U);
  EXPECT_EQ(merged.alignments[0].how, AlignedBy::Reference);
  EXPECT_EQ(merged.alignments[1].how, AlignedBy::Collectives);
  EXPECT_EQ(merged.alignments[1].matches, 60U);
  EXPECT_NEAR(static_cast<double>(merged.alignments[1].offsetNs), -5e9, 50);
  EXPECT_LT(merged.alignments[1].spreadNs, 50);
  EXPECT_NEAR(static_cast<double>(merged.alignments[2].offsetNs), 123456789, 50);
}

TEST(Merge, CollectivesThatOneRankMissesDoNotShiftTheOthers) {
  const auto merged = merge({{.skewNs = 0}, {.skewNs = 7'000'000, .lostEvery = 7}});
  EXPECT_EQ(merged.alignments[1].how, AlignedBy::Collectives);
  EXPECT_LT(merged.alignments[1].matches, 60U);
  EXPECT_NEAR(static_cast<double>(merged.alignments[1].offsetNs), -7e6, 50);
}

TEST(Merge, CollectivesBelongToStepsOfAnyNameThatReportsKnow) {
  for (const char* marker : {"iteration ", "train_step_", "Step#"}) {
    const auto merged =
        merge({{.marker = marker}, {.skewNs = 7'000'000, .lostEvery = 7, .marker = marker}});
    EXPECT_EQ(merged.alignments[1].how, AlignedBy::Collectives) << marker;
    EXPECT_NEAR(static_cast<double>(merged.alignments[1].offsetNs), -7e6, 50) << marker;
  }
}

TEST(Merge, WithoutCollectivesClocksThenMarkersThenStartsDecide) {
  constexpr TimeNs kDay = 1'700'000'000'000'000'000;
  const auto clocks = merge({{.collectives = false, .realtimeNs = kDay},
                             {.skewNs = 900'000, .collectives = false, .realtimeNs = kDay + 100}});
  EXPECT_EQ(clocks.alignments[1].how, AlignedBy::Clocks);
  EXPECT_EQ(clocks.alignments[1].offsetNs, -900'000 + 100);
  const auto markers = merge({{.collectives = false}, {.skewNs = 900'000, .collectives = false}});
  EXPECT_EQ(markers.alignments[1].how, AlignedBy::Markers);
  EXPECT_NEAR(static_cast<double>(markers.alignments[1].offsetNs), -900'000, 300);
  const auto none = merge({{.collectives = false, .markers = false},
                           {.skewNs = 5, .collectives = false, .markers = false}});
  EXPECT_EQ(none.alignments[1].how, AlignedBy::Start);
}

TEST(Merge, RowsKeepTheirPlacesAndArguments) {
  const auto merged = merge({{.skewNs = 0}, {.skewNs = 1000}});
  const Store& store = *merged.store;
  EXPECT_EQ(store.rows<Kernel>(), 120U);
  EXPECT_EQ(store.rows<Process>(), 2U);
  EXPECT_EQ(store.rows<Device>(), 2U);
  EXPECT_EQ(store.row<Process>(0).rank, 0);
  EXPECT_EQ(store.row<Process>(1).rank, 1);
  std::array<int, 3> perQueue{};
  for (std::uint64_t i = 0; i < store.rows<Kernel>(); ++i) {
    const auto kernel = store.row<Kernel>(i);
    ++perQueue[kernel.queue.value];
    const auto queue = store.row<Queue>(kernel.queue.value - 1);
    EXPECT_EQ(queue.device, kernel.device);
    EXPECT_EQ(store.row<ArgSet>(kernel.args.value - 1).id, kernel.args);
    EXPECT_EQ(store.text(StringId(
                  static_cast<std::uint32_t>(store.row<Arg>(kernel.args.value - 1).value))),
              "eight");
  }
  EXPECT_EQ(perQueue[1], 60);
  EXPECT_EQ(perQueue[2], 60);
  EXPECT_TRUE(store.find("merge.input1.offset_ns"));
}

TEST(Merge, DevicesWithTheSameUniqueIdAreOne) {
  const auto merged =
      merge({{.uuid = "GPU-1"}, {.skewNs = 10, .uuid = "GPU-1"}, {.skewNs = 20, .uuid = "GPU-2"}});
  EXPECT_EQ(merged.store->rows<Device>(), 2U);
  EXPECT_EQ(merged.store->row<Queue>(1).device, merged.store->row<Queue>(0).device);
  EXPECT_NE(merged.store->row<Queue>(2).device, merged.store->row<Queue>(0).device);
}

/// Kind, index and kernels of each device, in the order of kind and index.
std::vector<std::string> devicesOf(const Store& store) {
  std::map<DeviceId, int> kernels;
  for (std::uint64_t i = 0; i < store.rows<Kernel>(); ++i) ++kernels[store.row<Kernel>(i).device];
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < store.rows<Device>(); ++i) {
    const auto device = store.row<Device>(i);
    out.push_back(fmt::format("{}:{} {} {}", int(device.kind), device.index,
                              store.text(device.name), kernels[device.id]));
  }
  std::ranges::sort(out);
  return out;
}

/// A rank in a container, where each process is number 1 and each file counts its flows.
std::string containerRank(int rank) {
  return fmt::format(R"({{"distributedInfo": {{"rank": {0}}}, "traceEvents": [
{{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {{"name": "rank {0}"}}}},
{{"ph": "X", "cat": "cpu_op", "name": "forward {0}", "pid": 1, "tid": 1, "ts": 100, "dur": 50, "args": {{"External id": 1}}}},
{{"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1, "tid": 1, "ts": 100}},
{{"ph": "X", "cat": "cpu_op", "name": "backward {0}", "pid": 1, "tid": 2, "ts": 300, "dur": 50, "args": {{"External id": 2}}}},
{{"ph": "f", "bp": "e", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1, "tid": 2, "ts": 300}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5, "args": {{"correlation": 9}}}},
{{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 9, "pid": 1, "tid": 1, "ts": 110}},
{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 15{0}, "dur": 300, "args": {{"correlation": 9}}}},
{{"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": 9, "pid": 0, "tid": 7, "ts": 15{0}}}
]}})",
                     rank);
}

TEST(Merge, RanksThatShareAPidAndFlowNumbersStayApart) {
  std::vector<std::shared_ptr<const Store>> inputs;
  for (int rank = 0; rank < 2; ++rank)
    inputs.push_back(*Store::open(test::TempFile(".json", containerRank(rank)).path()));
  const auto merged = mergeTraces(inputs);
  ASSERT_TRUE(merged);
  const test::TempFile lcn(".lcn"), file(".json");
  ASSERT_TRUE(exportTrace(*merged->store, lcn.path(), Format::Lcn));
  ASSERT_TRUE(exportTrace(**Store::open(lcn.path()), file.path(), Format::Chrome));
  const auto back = *Store::open(file.path());
  EXPECT_TRUE(back->warnings().empty());
  // Two processes that are number 1, with their names, threads and operators.
  std::vector<std::string> processes;
  std::map<ProcessId, std::string> nameOf;
  for (std::uint64_t i = 0; i < back->rows<Process>(); ++i) {
    const auto row = back->row<Process>(i);
    processes.push_back(fmt::format("{} {}", row.osPid, back->text(row.name)));
    nameOf[row.id] = back->text(row.name);
    EXPECT_EQ(fmt::format("rank {}", row.rank), back->text(row.name));
  }
  EXPECT_THAT(processes, testing::UnorderedElementsAre("1 rank 0", "1 rank 1"));
  std::map<ThreadId, ProcessId> owner;
  for (std::uint64_t i = 0; i < back->rows<Thread>(); ++i)
    owner[back->row<Thread>(i).id] = back->row<Thread>(i).process;
  for (std::uint64_t i = 0; i < back->rows<Range>(); ++i) {
    const auto row = back->row<Range>(i);
    EXPECT_EQ(back->text(row.name).back(), nameOf[owner[row.thread]].back())
        << back->text(row.name);
  }
  // No flow has points in two of them.
  std::map<std::pair<std::uint64_t, StringId>, std::set<ProcessId>> users;
  for (std::uint64_t i = 0; i < back->rows<Flow>(); ++i) {
    const auto row = back->row<Flow>(i);
    if (row.thread) users[{row.id, row.name}].insert(owner[row.thread]);
  }
  for (const auto& [flow, processesOf] : users) EXPECT_EQ(processesOf.size(), 1U) << flow.first;
  std::ifstream text(file.path());
  const std::string content{std::istreambuf_iterator<char>(text), {}};
  std::set<std::string> launches;
  for (std::size_t at = content.find("\"name\": \"ac2g\""); at != std::string::npos;
       at = content.find("\"name\": \"ac2g\"", at + 1)) {
    launches.insert(content.substr(content.find("\"id\"", at), 12));
  }
  EXPECT_EQ(launches.size(), 2U) << "each rank's launch is a flow of its own";
}

TEST(Merge, WarnsOfTwoTracesThatAreTheSameRank) {
  const auto capture = [](std::int32_t rank) {
    StoreBuilder builder;
    for (std::uint32_t i = 1; i <= 2; ++i)
      builder.append(Process{.id = ProcessId(i), .osPid = i, .exitCode = -1, .rank = rank});
    builder.setPath("rank" + std::to_string(rank) + ".lcn");
    return builder.build();
  };
  const auto warningsOf = [](const std::vector<std::shared_ptr<const Store>>& inputs) {
    return mergeTraces(inputs)->store->warnings();
  };
  EXPECT_THAT(warningsOf({capture(0), capture(1)}), testing::IsEmpty());
  EXPECT_THAT(warningsOf({capture(-1), capture(-1)}), testing::IsEmpty());
  EXPECT_THAT(
      warningsOf({capture(0), capture(1), capture(0)}),
      testing::ElementsAre(
          "rank0.lcn and rank0.lcn both claim to be rank 0; what they did counts as one rank's"));
}

TEST(Merge, LargeFilesAreReadFromFrontToBack) {
  // More rows than are read at once; a row that is looked for from the beginning of its table takes
  // the test's time.
  constexpr std::uint64_t kRows = 100'000;
  const test::TempFile file(".lcn");
  auto writer = *Writer::create(file.path());
  writer.append(Process{.id = ProcessId(1), .osPid = 7});
  writer.append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 7});
  const StringId shape = writer.intern("+key"), key = writer.intern("key");
  for (std::uint32_t i = 1; i <= kRows; ++i) {
    writer.append(ArgSet{.id = ArgSetId(i), .shape = shape});
    writer.append(Arg{.set = ArgSetId(i), .key = key, .type = ArgType::I64, .value = i});
    writer.append(Range{.startNs = 10 * i, .durNs = 5, .thread = ThreadId(1), .args = ArgSetId(i)});
  }
  ASSERT_TRUE(writer.finish());
  const std::vector<std::shared_ptr<const Store>> inputs{*Store::open(file.path()),
                                                         *Store::open(file.path())};
  const auto merged = mergeTraces(inputs);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->store->rows<Range>(), 2 * kRows);
  const auto args = merged->store->column<&Range::args>();
  EXPECT_EQ(std::set(args.begin(), args.end()).size(), 2 * kRows) << "the arguments of both inputs";
}

/// One rank of two, as Kineto writes it: both call their process's device 0, and number their calls
/// alike.
std::string kinetoRank(int rank) {
  const auto event = [&](const char* category, const char* name, std::string_view place, int tsUs,
                         int durUs, const char* args) {
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}",{},"ts":{},"dur":{},"args":{{{}}}}},)",
                       category, name, place, tsUs, durUs, args);
  };
  const std::string host = fmt::format(R"("pid":{0},"tid":{0})", 100 + rank);
  const auto memory = [&](int bytes, int address, int tsUs) {
    return fmt::format(
        R"({{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]",{},"ts":{},"args":{{)"
        R"("Bytes":{},"Addr":{},"Device Id":0,"Device Type":1}}}})",
        host, tsUs, bytes, address);
  };
  return fmt::format(
             R"({{"schemaVersion":1,"distributedInfo":{{"backend":"nccl","rank":{},"world_size":2}},"traceEvents":[)",
             rank) +
         event("cuda_runtime", "cudaLaunchKernel", host, 1010, 5, R"("correlation":7)") +
         event("kernel", "gemm", R"("pid":0,"tid":7)", 1020, 30 + rank,
               R"("device":0,"stream":7,"correlation":7)") +
         event("cuda_runtime", "cudaLaunchKernel", host, 1060, 5, R"("correlation":8)") +
         event("kernel", "ncclDevKernel_AllReduce", R"("pid":0,"tid":20)", 1070 + rank, 30 - rank,
               R"("device":0,"stream":20,"correlation":8)") +
         memory(1024, 4096, 1005) + "," + memory(2048 * (rank + 1), 8192, 1006) + "]}";
}

/// The report's figures of each device and its memory.
std::vector<std::string> totalsOf(const std::shared_ptr<const Store>& store) {
  const auto analysis = analyse(store);
  EXPECT_TRUE(analysis) << analysis.error().message;
  std::vector<std::string> out;
  for (const DeviceAccount& device : analysis->devices) {
    std::uint64_t peak = 0;
    for (const DeviceMemory& memory : analysis->of<MemoryTables>().devices)
      peak += memory.device == device.id ? memory.peakBytes : 0;
    out.push_back(fmt::format(
        "{} of {}, rank {}: {} kernels of {} ns, communication {} ns, busy {} ns, peak {}",
        device.label, device.osPid, device.rank, device.kernels, device.kernelNs, device.commNs,
        device.ledger.busyNs(), peak));
  }
  std::ranges::sort(out);
  return out;
}

TEST(Merge, RanksThatNumberTheirDevicesAlikeStayApartInJson) {
  std::vector<std::shared_ptr<const Store>> ranks;
  std::vector<std::unique_ptr<test::TempFile>> files;
  for (const int rank : {0, 1}) {
    files.push_back(std::make_unique<test::TempFile>(".json"));
    std::ofstream(files.back()->path()) << kinetoRank(rank);
    ranks.push_back(*Store::open(files.back()->path()));
  }
  const auto merged = mergeTraces(ranks)->store;
  EXPECT_THAT(totalsOf(merged),
              testing::ElementsAre("cuda:0 of 100, rank 0: 2 kernels of 60000 ns, communication "
                                   "30000 ns, busy 60000 ns, peak 3072",
                                   "cuda:0 of 101, rank 1: 2 kernels of 60000 ns, communication "
                                   "29000 ns, busy 60000 ns, peak 5120"));
  const test::TempFile once(".json"), twice(".json");
  ASSERT_TRUE(exportTrace(*merged, once.path(), Format::Chrome));
  const auto again = *Store::open(once.path());
  EXPECT_EQ(totalsOf(again), totalsOf(merged));
  ASSERT_TRUE(exportTrace(*again, twice.path(), Format::Chrome));
  EXPECT_EQ(totalsOf(*Store::open(twice.path())), totalsOf(merged));
}

class MergedRoundTrip : public testing::TestWithParam<Format> {};

TEST_P(MergedRoundTrip, DevicesStayWhatTheyAre) {
  const auto capture = [](const char* name, DeviceKind kind, std::string_view format) {
    StoreBuilder builder;
    builder.append(Process{.id = ProcessId(1), .osPid = 7});
    builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 7});
    const bool isCpu = kind == DeviceKind::Cpu;
    builder.append(Device{.id = DeviceId(1),
                          .kind = kind,
                          .process = isCpu ? ProcessId(1) : ProcessId(),
                          .name = builder.intern(name)});
    builder.append(
        Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 7});
    for (TimeNs t = 1; t <= 3; ++t) {
      builder.append(
          Kernel{.startNs = 10000 * t, .durNs = 5000, .queue = QueueId(1), .device = DeviceId(1)});
    }
    if (!format.empty())
      builder.append(
          Environment{.key = builder.intern("source.format"), .value = builder.intern(format)});
    return builder.build();
  };
  const std::vector<std::shared_ptr<const Store>> inputs{capture("", DeviceKind::Cuda, "kineto"),
                                                         capture("", DeviceKind::Cuda, "kineto"),
                                                         capture("Xeon", DeviceKind::Cpu, "")};
  const auto merged = mergeTraces(inputs)->store;
  EXPECT_THAT(devicesOf(*merged), testing::ElementsAre("1:0 Xeon 3", "2:0  3", "2:0  3"));
  const test::TempFile file(GetParam() == Format::Chrome ? ".json"
                            : GetParam() == Format::Nsys ? ".sqlite"
                                                         : ".pb");
  ASSERT_TRUE(exportTrace(*merged, file.path(), GetParam()));
  const auto again = Store::open(file.path());
  ASSERT_TRUE(again);
  EXPECT_EQ(devicesOf(**again), devicesOf(*merged));
}

INSTANTIATE_TEST_SUITE_P(Formats, MergedRoundTrip,
                         testing::Values(Format::Chrome, Format::Perfetto, Format::Nsys));

}  // namespace
}  // namespace lacuna::analyzer
