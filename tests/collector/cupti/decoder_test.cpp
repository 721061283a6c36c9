// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "generations.h"
#include "records.h"
#include "row_collector.h"

namespace lacuna::collector::cupti {
namespace {

class DecoderTest : public testing::Test {
 protected:
  DecoderTest() { clock_.add(1'000'000, 0); }

  DecoderHooks hooks() {
    DecoderHooks hooks;
    hooks.text = [](const void* pointer) {
      return pointer != nullptr ? std::string_view(static_cast<const char*>(pointer))
                                : std::string_view();
    };
    hooks.apiName = [](bool driver, std::uint32_t id) {
      return id == 211 ? std::string("cudaLaunchKernel_v7000")
             : driver  ? std::string("cuMemAlloc_v2")
                       : std::string();
    };
    hooks.clock = &clock_;
    return hooks;
  }
  template <class Record>
  void decode(const Record& record, std::size_t bytes = sizeof(Record)) {
    decoder_.decode(&record, bytes);
  }
  template <class Row>
  const Row& only() {
    EXPECT_EQ(rows_.all<Row>().size(), 1u);
    return rows_.all<Row>().at(0);
  }

  ClockMap clock_;  // stamps are MONOTONIC + 1,000,000
  RowCollector rows_;
  Decoder decoder_{rows_, hooks()};
};

TEST_F(DecoderTest, KernelBecomesARowOnItsQueue) {
  decode(kernelRecord("sgemm", 1'000'100, 1'000'350, 42));
  const auto& kernel = only<prof::Kernel>();
  EXPECT_EQ(kernel.startNs, 100);
  EXPECT_EQ(kernel.durNs, 250);
  EXPECT_EQ(kernel.correlation, 42u);
  EXPECT_EQ(rows_.text(kernel.name), "sgemm");
  EXPECT_EQ(kernel.gridX, 108u);
  EXPECT_EQ(kernel.blockX, 256u);
  EXPECT_EQ(kernel.registersPerThread, 40u);
  EXPECT_EQ(kernel.dynamicSharedBytes, 49152u);
  const auto& queue = only<prof::Queue>();
  EXPECT_EQ(kernel.queue, queue.id);
  EXPECT_EQ(queue.nativeId, 7u);
  EXPECT_EQ(only<prof::Device>().id, kernel.device);
}

TEST_F(DecoderTest, KernelNamesAreAsInTheSource) {
  for (const char* symbol : {"_Z4axpyPfPKffi", "_Z4axpyPfPKffi", "f", "_Zbroken", "sgemm"}) {
    decode(kernelRecord(symbol, 1'000'100, 1'000'350));
  }
  std::vector<std::string> names;
  for (const auto& kernel : rows_.all<prof::Kernel>()) names.push_back(rows_.text(kernel.name));
  const std::string axpy = "axpy(float*, float const*, float, int)";
  EXPECT_EQ(names, (std::vector<std::string>{axpy, axpy, "f", "_Zbroken", "sgemm"}));
}

TEST_F(DecoderTest, AnotherNameAtTheSameAddressIsAnotherName) {
  char symbol[] = "_Z1av";
  decode(kernelRecord(symbol, 1'000'100, 1'000'350));
  symbol[3] = 'b';
  decode(kernelRecord(symbol, 1'000'400, 1'000'500));
  EXPECT_EQ(rows_.text(rows_.all<prof::Kernel>()[1].name), "b()");
}

TEST_F(DecoderTest, AStreamBecomesAQueueWithItsFirstWork) {
  decode(streamRecord());
  EXPECT_TRUE(rows_.all<prof::Queue>().empty());
  EXPECT_EQ(decoder_.stats().unknownKinds, 0u);
  auto kernel = kernelRecord("a", 1'000'100, 1'000'200);
  kernel.streamId = streamRecord().streamId;
  decode(kernel);
  EXPECT_EQ(only<prof::Queue>().nativeId, streamRecord().streamId);
}

TEST_F(DecoderTest, AQueueIsDeclaredOncePerStream) {
  decode(kernelRecord("a", 1'000'100, 1'000'200));
  decode(kernelRecord("b", 1'000'300, 1'000'400));
  auto other = kernelRecord("c", 1'000'300, 1'000'400);
  other.streamId = 8;
  decode(other);
  EXPECT_EQ(rows_.all<prof::Queue>().size(), 2u);
  EXPECT_NE(rows_.all<prof::Kernel>()[2].queue, rows_.all<prof::Kernel>()[0].queue);
}

TEST_F(DecoderTest, AnOlderShorterRecordLeavesNewFieldsZero) {
  auto record = kernelRecord("old", 1'000'100, 1'000'200);
  record.graphId = 9;
  decode(record, offsetof(CUpti_ActivityKernel10, graphId));
  EXPECT_EQ(only<prof::Kernel>().graphId, 0u);
  EXPECT_EQ(rows_.text(only<prof::Kernel>().name), "old");
}

TEST_F(DecoderTest, CountsWorkWithoutAStartStampAndLeavesItOut) {
  decode(kernelRecord("ghost", 0, 1'000'200));
  EXPECT_TRUE(rows_.all<prof::Kernel>().empty());
  EXPECT_EQ(decoder_.stats().zeroStart, 1u);
}

TEST_F(DecoderTest, MarksWorkThatStillRuns) {
  decode(kernelRecord("long", 1'000'100, 0));
  EXPECT_EQ(only<prof::Kernel>().flags & prof::kUnfinished, prof::kUnfinished);
  EXPECT_EQ(decoder_.stats().unfinished, 1u);
}

TEST_F(DecoderTest, AnEndBeforeTheStartHasNoLength) {
  decode(kernelRecord("odd", 1'000'100, 1'000'050));
  EXPECT_EQ(only<prof::Kernel>().durNs, 0);
  EXPECT_EQ(decoder_.stats().endBeforeStart, 1u);
}

TEST_F(DecoderTest, CopyKeepsDirectionMemoryKindsAndAsync) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = 4096;
  record.start = 1'000'010;
  record.end = 1'000'020;
  decode(record);
  const auto& copy = only<prof::Memcpy>();
  EXPECT_EQ(copy.copyKind, prof::CopyKind::HostToDevice);
  EXPECT_EQ(copy.sourceKind, prof::MemoryKind::Pinned);
  EXPECT_EQ(copy.targetKind, prof::MemoryKind::Device);
  EXPECT_EQ(copy.flags, prof::kAsync);
  EXPECT_EQ(copy.bytes, 4096u);
}

TEST_F(DecoderTest, PeerCopyNamesTheOtherDevice) {
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  record.start = 1'000'010;
  record.end = 1'000'020;
  record.deviceId = record.srcDeviceId = 1;
  record.dstDeviceId = 3;
  decode(record);
  EXPECT_EQ(only<prof::Memcpy>().peer, prof::DeviceId(4));
  EXPECT_EQ(only<prof::Memcpy>().copyKind, prof::CopyKind::PeerToPeer);
  EXPECT_EQ(rows_.all<prof::Device>().size(), 2u);
}

TEST_F(DecoderTest, MemsetKeepsValueAndSize) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.start = 1'000'010;
  record.end = 1'000'020;
  record.value = 5;
  record.bytes = 64;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  decode(record);
  EXPECT_EQ(only<prof::Memset>().value, 5u);
  EXPECT_EQ(only<prof::Memset>().bytes, 64u);
}

CUpti_ActivityAPI apiRecord(CUpti_ActivityKind kind, std::uint32_t id) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = id;
  record.start = 1'000'001;
  record.end = 1'000'004;
  record.threadId = 1234;
  record.correlationId = 42;
  record.returnValue = 2;
  return record;
}

TEST_F(DecoderTest, ApiCallIsNamedWithoutItsAbiVersion) {
  decode(apiRecord(CUPTI_ACTIVITY_KIND_RUNTIME, 211));
  const auto& call = only<prof::ApiCall>();
  EXPECT_EQ(rows_.text(call.name), "cudaLaunchKernel");
  EXPECT_EQ(call.thread, prof::ThreadId(1234));
  EXPECT_EQ(call.returnCode, 2);
  EXPECT_EQ(call.kind, prof::ApiKind::Runtime);
}

TEST_F(DecoderTest, TheDriversFunctionVersionsStay) {
  decode(apiRecord(CUPTI_ACTIVITY_KIND_DRIVER, 243));
  EXPECT_EQ(rows_.text(only<prof::ApiCall>().name), "cuMemAlloc_v2");
}

TEST_F(DecoderTest, AnUnknownCallIsNamedByItsNumber) {
  decode(apiRecord(CUPTI_ACTIVITY_KIND_RUNTIME, 999));
  EXPECT_EQ(rows_.text(only<prof::ApiCall>().name), "runtime call 999");
}

TEST_F(DecoderTest, SyncFindsItsDeviceThroughTheContext) {
  CUpti_ActivityContext3 context{};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 1;
  context.deviceId = 2;
  decode(context);
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  record.start = 1'000'001;
  record.end = 1'000'101;
  record.contextId = 1;
  record.streamId = 7;
  record.cudaEventId = static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  decode(record);
  EXPECT_EQ(only<prof::Sync>().kind, prof::SyncKind::Stream);
  EXPECT_EQ(only<prof::Sync>().device, prof::DeviceId(3));
  EXPECT_EQ(only<prof::Sync>().queue, only<prof::Queue>().id);
  EXPECT_EQ(only<prof::Sync>().eventId, 0u);
}

CUpti_ActivityMemory4 memoryRecord(bool async, bool release) {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.isAsync = async ? 1 : 0;
  record.address = 0x7f0000000000;
  record.bytes = 1 << 20;
  record.timestamp = 1'000'500;
  return record;
}

TEST_F(DecoderTest, StreamOrderedMemoryIsAllocatedAndCudaMallocReserved) {
  decode(memoryRecord(true, false));
  decode(memoryRecord(true, true));
  decode(memoryRecord(false, false));
  decode(memoryRecord(false, true));
  const auto& rows = rows_.all<prof::Allocation>();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].action, prof::MemoryAction::Allocate);
  EXPECT_EQ(rows[1].action, prof::MemoryAction::Free);
  EXPECT_EQ(rows[2].action, prof::MemoryAction::Reserve);
  EXPECT_EQ(rows[3].action, prof::MemoryAction::Release);
  EXPECT_EQ(rows[0].timeNs, 500);
  EXPECT_EQ(rows[0].address, 0x7f0000000000u);
}

TEST_F(DecoderTest, DeviceRecordDescribesTheDevice) {
  CUpti_ActivityDevice5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.id = 0;
  record.name = "NVIDIA H100";
  record.numMultiprocessors = 132;
  record.globalMemoryBandwidth = 3'352'320'000;
  record.computeCapabilityMajor = 9;
  record.uuid.bytes[0] = static_cast<char>(0xab);
  decode(record);
  const auto& device = only<prof::Device>();
  EXPECT_EQ(rows_.text(device.name), "NVIDIA H100");
  EXPECT_EQ(device.memoryBandwidth, 3'352'320'000'000u);
  EXPECT_EQ(device.computeMajor, 9);
  EXPECT_EQ(rows_.text(device.uuid), "GPU-ab000000-0000-0000-0000-000000000000");
}

TEST_F(DecoderTest, GraphTraceIsOneKernelPerLaunch) {
  CUpti_ActivityGraphTrace2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.start = 1'000'010;
  record.end = 1'000'020;
  record.graphId = 4;
  decode(record);
  EXPECT_EQ(rows_.text(only<prof::Kernel>().name), "CUDA graph");
  EXPECT_EQ(only<prof::Kernel>().graphId, 4u);
}

TEST_F(DecoderTest, OverheadNamesItsThread) {
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 77;
  record.start = 1'000'010;
  record.end = 1'000'020;
  decode(record);
  EXPECT_EQ(rows_.text(only<prof::Overhead>().name), "CUPTI buffer flush");
  EXPECT_EQ(only<prof::Overhead>().thread, prof::ThreadId(77));
}

TEST_F(DecoderTest, EveryOverheadHasItsName) {
  const std::vector<std::pair<CUpti_ActivityOverheadKind, std::string>> names = {
      {CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "driver compiler"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "CUPTI buffer flush"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "CUPTI instrumentation"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "CUPTI resource"},
      {CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, "module loading"},
      {CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "lazy function loading"},
      {CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "command buffer full"},
      {CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "CUPTI buffer request"},
      {CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, "CUPTI unified memory set-up"},
      {CUPTI_ACTIVITY_OVERHEAD_UNKNOWN, "overhead"},
  };
  for (const auto& [kind, name] : names) {
    auto record = overheadRecord(1'000'010);
    record.overheadKind = kind;
    decode(record);
    EXPECT_EQ(rows_.text(rows_.all<prof::Overhead>().back().name), name);
  }
}

TEST_F(DecoderTest, ClocksTemperatureAndFanAreCountersOfTheirOwn) {
  auto speed = environmentRecord(CUPTI_ACTIVITY_ENVIRONMENT_SPEED, 1'000'100);
  speed.data.speed.smClock = 1980;
  speed.data.speed.memoryClock = 2619;
  auto temperature = environmentRecord(CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE, 1'000'100);
  temperature.data.temperature.gpuTemperature = 61;
  auto cooling = environmentRecord(CUPTI_ACTIVITY_ENVIRONMENT_COOLING, 1'000'100);
  cooling.data.cooling.fanSpeed = 40;
  decode(speed);
  decode(temperature);
  decode(cooling);
  std::vector<std::pair<std::string, double>> values;
  for (const auto& sample : rows_.all<prof::CounterSample>()) {
    const auto& track = rows_.all<prof::CounterTrack>().at(sample.track.value - 1);
    values.emplace_back(rows_.text(track.name) + ", " + rows_.text(track.unit), sample.value);
  }
  EXPECT_EQ(values, (std::vector<std::pair<std::string, double>>{{"SM clock, MHz", 1980},
                                                                 {"memory clock, MHz", 2619},
                                                                 {"temperature, °C", 61},
                                                                 {"fan speed, %", 40}}));
}

TEST_F(DecoderTest, EnvironmentAndPoolsBecomeCounters) {
  CUpti_ActivityEnvironment power{};
  power.kind = CUPTI_ACTIVITY_KIND_ENVIRONMENT;
  power.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_POWER;
  power.timestamp = 1'000'100;
  power.data.power.power = 350'000;
  decode(power);
  decode(power);
  EXPECT_EQ(rows_.text(only<prof::CounterTrack>().name), "power");
  ASSERT_EQ(rows_.all<prof::CounterSample>().size(), 2u);
  EXPECT_EQ(rows_.all<prof::CounterSample>()[0].value, 350'000);
  CUpti_ActivityMemoryPool3 pool{};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  pool.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  pool.size = 100;
  pool.utilizedSize = 60;
  decode(pool);
  EXPECT_EQ(rows_.all<prof::CounterSample>().back().value, 60);
}

TEST_F(DecoderTest, BufferIsWalkedByTheStridesItWasWrittenWith) {
  Strides strides = compiledStrides();
  // As an older library would write them: kernels end before the cluster fields.
  const std::size_t kernelStride = offsetof(CUpti_ActivityKernel10, clusterX);
  strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = static_cast<std::uint16_t>(kernelStride);
  std::vector<std::byte> buffer;
  const auto append = [&](const void* record, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(record);
    buffer.insert(buffer.end(), from, from + bytes);
  };
  const auto first = kernelRecord("a", 1'000'100, 1'000'200);
  const auto call = apiRecord(CUPTI_ACTIVITY_KIND_RUNTIME, 211);
  const auto second = kernelRecord("b", 1'000'300, 1'000'400);
  append(&first, kernelStride);
  append(&call, sizeof call);
  append(&second, kernelStride);
  EXPECT_EQ(decoder_.decodeBuffer(buffer.data(), buffer.size(), strides), buffer.size());
  ASSERT_EQ(rows_.all<prof::Kernel>().size(), 2u);
  EXPECT_EQ(rows_.text(rows_.all<prof::Kernel>()[1].name), "b");
}

/// The same fields in the structure of either generation.
template <class Kernel>
Kernel kernelOf() {
  Kernel record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = "gemm";
  record.start = 1'000'100;
  record.end = 1'000'350;
  record.correlationId = 42;
  record.contextId = 1;
  record.streamId = 7;
  record.gridX = 108;
  record.blockX = 256;
  record.graphId = 3;
  return record;
}
template <class Copy>
Copy copyOf() {
  Copy record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  record.bytes = 4096;
  record.start = 1'000'400;
  record.end = 1'000'410;
  record.contextId = 1;
  record.streamId = 7;
  return record;
}
template <class Memory>
Memory memoryOf() {
  Memory record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.address = 0x7000;
  record.bytes = 512;
  record.timestamp = 1'000'500;
  return record;
}
template <class Sync>
Sync syncOf() {
  Sync record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  record.start = 1'000'600;
  record.end = 1'000'700;
  record.contextId = 1;
  record.streamId = 7;
  return record;
}
template <class Graph>
Graph graphOf() {
  Graph record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.start = 1'000'800;
  record.end = 1'000'900;
  record.graphId = 5;
  record.contextId = 1;
  record.streamId = 7;
  return record;
}

template <class Context>
Context contextOf() {
  Context record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = 1;
  record.deviceId = 2;
  return record;
}
template <class Overhead>
Overhead overheadOf() {
  Overhead record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 77;
  record.start = 1'000'010;
  record.end = 1'000'020;
  return record;
}
template <class Pool>
Pool poolOf() {
  Pool record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.timestamp = 1'000'500;
  record.size = 100;
  record.utilizedSize = 60;
  return record;
}

TEST_F(DecoderTest, BothGenerationsOfStructuresGiveTheSameRows) {
  const auto decoded = [&](const Strides& strides, const auto&... records) {
    std::vector<std::byte> buffer;
    const auto append = [&](const auto& record) {
      const auto* from = reinterpret_cast<const std::byte*>(&record);
      buffer.insert(buffer.end(), from, from + sizeof record);
    };
    (append(records), ...);
    RowCollector rows;
    Decoder decoder(rows, hooks());
    EXPECT_EQ(decoder.decodeBuffer(buffer.data(), buffer.size(), strides), buffer.size());
    return rows;
  };
  const RowCollector now = decoded(
      compiledStrides(), contextOf<CUpti_ActivityContext3>(), kernelOf<CUpti_ActivityKernel10>(),
      copyOf<CUpti_ActivityMemcpy6>(), memoryOf<CUpti_ActivityMemory4>(),
      syncOf<CUpti_ActivitySynchronization2>(), graphOf<CUpti_ActivityGraphTrace2>(),
      overheadOf<CUpti_ActivityOverhead3>(), poolOf<CUpti_ActivityMemoryPool3>());
  const RowCollector before =
      decoded(stridesOf12(), contextOf<CUpti_ActivityContext2>(), kernelOf<CUpti_ActivityKernel9>(),
              copyOf<CUpti_ActivityMemcpy5>(), memoryOf<CUpti_ActivityMemory3>(),
              syncOf<CUpti_ActivitySynchronization>(), graphOf<CUpti_ActivityGraphTrace>(),
              overheadOf<CUpti_ActivityOverhead2>(), poolOf<CUpti_ActivityMemoryPool2>());
  EXPECT_TRUE(now == before);
  for (const RowCollector* rows : {&now, &before}) {
    ASSERT_EQ(rows->all<prof::Kernel>().size(), 2u);
    EXPECT_EQ(rows->text(rows->all<prof::Kernel>()[0].name), "gemm");
    EXPECT_EQ(rows->all<prof::Kernel>()[0].durNs, 250);
    EXPECT_EQ(rows->all<prof::Kernel>()[0].graphId, 3u);
    EXPECT_EQ(rows->all<prof::Kernel>()[1].graphId, 5u);
    ASSERT_EQ(rows->all<prof::Memcpy>().size(), 1u);
    EXPECT_EQ(rows->all<prof::Memcpy>()[0].bytes, 4096u);
    EXPECT_EQ(rows->all<prof::Memcpy>()[0].copyKind, prof::CopyKind::DeviceToHost);
    ASSERT_EQ(rows->all<prof::Allocation>().size(), 1u);
    EXPECT_EQ(rows->all<prof::Allocation>()[0].bytes, 512u);
    ASSERT_EQ(rows->all<prof::Sync>().size(), 1u);
    EXPECT_EQ(rows->all<prof::Sync>()[0].durNs, 100);
    EXPECT_EQ(rows->all<prof::Sync>()[0].device, prof::DeviceId(3));
    ASSERT_EQ(rows->all<prof::Overhead>().size(), 1u);
    EXPECT_EQ(rows->all<prof::Overhead>()[0].thread, prof::ThreadId(77));
    ASSERT_EQ(rows->all<prof::CounterSample>().size(), 2u);
    EXPECT_EQ(rows->all<prof::CounterSample>()[1].value, 60);
  }
}

TEST_F(DecoderTest, ATruncatedBufferGivesItsCompleteRecords) {
  const CUpti_ActivityKernel10 records[2] = {kernelRecord("a", 1'000'100, 1'000'200),
                                             kernelRecord("b", 1, 2)};
  const auto used = decoder_.decodeBuffer(reinterpret_cast<const std::byte*>(records),
                                          sizeof records - 1, compiledStrides());
  EXPECT_EQ(used, sizeof records[0]);
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1u);
}

TEST(DecoderGarbage, RandomBytesNeverDoHarm) {
  std::mt19937_64 random(1);
  RowCollector rows;
  Decoder decoder(rows, {});
  const Strides strides = compiledStrides();
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> buffer(8 + random() % 600);
    for (std::byte& byte : buffer) byte = static_cast<std::byte>(random());
    const std::uint32_t kind = static_cast<std::uint32_t>(random() % strides.size());
    std::memcpy(buffer.data(), &kind, sizeof kind);
    EXPECT_LE(decoder.decodeBuffer(buffer.data(), buffer.size(), strides), buffer.size());
    decoder.decode(buffer.data(), buffer.size());
  }
  EXPECT_GT(decoder.stats().records, 0u);
}

}  // namespace
}  // namespace lacuna::collector::cupti
