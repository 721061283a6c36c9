// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>

/// Activity records filled by hand, as the device and CUPTI would leave them.
namespace lacuna::collector::cupti {

/// A kernel record as the device would leave it.
inline CUpti_ActivityKernel10 kernelRecord(const char* name, std::uint64_t start, std::uint64_t end,
                                           std::uint32_t correlation = 1) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start;
  record.end = end;
  record.correlationId = correlation;
  record.contextId = 1;
  record.streamId = 7;
  record.gridX = 108;
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.blockX = 256;
  record.registersPerThread = 40;
  record.dynamicSharedMemory = 49152;
  return record;
}

/// A call that launches the work of that correlation.
inline CUpti_ActivityAPI callRecord(CUpti_ActivityKind kind, std::uint64_t start,
                                    std::uint32_t correlation) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = 211;
  record.start = start;
  record.end = start + 400;
  record.threadId = 1234;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityMemcpy6 copyRecord(std::uint64_t start) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = 4096;
  record.start = start;
  record.end = start + 500;
  record.contextId = 1;
  record.streamId = 7;
  record.correlationId = 2;
  return record;
}

inline CUpti_ActivityMemcpyPtoP4 peerCopyRecord(std::uint64_t start) {
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  record.start = start;
  record.end = start + 700;
  record.bytes = 8192;
  record.contextId = 1;
  record.streamId = 7;
  record.dstDeviceId = 1;
  record.correlationId = 3;
  return record;
}

inline CUpti_ActivityMemset4 memsetRecord(std::uint64_t start) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.start = start;
  record.end = start + 100;
  record.value = 5;
  record.bytes = 64;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.contextId = 1;
  record.streamId = 7;
  record.correlationId = 4;
  return record;
}

inline CUpti_ActivitySynchronization2 syncRecord(std::uint64_t start) {
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  record.start = start;
  record.end = start + 300;
  record.contextId = 1;
  record.streamId = 7;
  record.cudaEventId = static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  return record;
}

inline CUpti_ActivityOverhead3 overheadRecord(std::uint64_t start) {
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 1234;
  record.start = start;
  record.end = start + 20;
  return record;
}

inline CUpti_ActivityMemory4 memoryRecord(std::uint64_t time) {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.address = 0x7f0000000000;
  record.bytes = 1 << 20;
  record.timestamp = time;
  record.contextId = 1;
  record.streamId = 7;
  return record;
}

inline CUpti_ActivityMemoryPool3 poolRecord(std::uint64_t time) {
  CUpti_ActivityMemoryPool3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.timestamp = time;
  record.size = 100;
  record.utilizedSize = 60;
  return record;
}

inline CUpti_ActivityDevice5 deviceRecord() {
  CUpti_ActivityDevice5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.name = "NVIDIA H100";
  record.numMultiprocessors = 132;
  record.globalMemoryBandwidth = 3'352'320'000;
  record.globalMemorySize = 80ull << 30;
  record.coreClockRate = 1'980'000;
  record.computeCapabilityMajor = 9;
  record.uuid.bytes[0] = static_cast<char>(0xab);
  return record;
}

inline CUpti_ActivityContext3 contextRecord() {
  CUpti_ActivityContext3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = 1;
  return record;
}

inline CUpti_ActivityStream streamRecord() {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = 1;
  record.streamId = 9;
  return record;
}

inline CUpti_ActivityGraphTrace2 graphRecord(std::uint64_t start) {
  CUpti_ActivityGraphTrace2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.start = start;
  record.end = start + 900;
  record.graphId = 5;
  record.contextId = 1;
  record.streamId = 7;
  record.correlationId = 5;
  return record;
}

inline CUpti_ActivityEnvironment environmentRecord(CUpti_ActivityEnvironmentKind kind,
                                                   std::uint64_t time) {
  CUpti_ActivityEnvironment record{};
  record.kind = CUPTI_ACTIVITY_KIND_ENVIRONMENT;
  record.environmentKind = kind;
  record.timestamp = time;
  return record;
}

/// Calls visit(record) with one record of each kind that is decoded; work comes before what
/// describes its device.
template <class Visit>
void everyKind(std::uint64_t start, Visit&& visit) {
  visit(callRecord(CUPTI_ACTIVITY_KIND_RUNTIME, start, 1));
  visit(callRecord(CUPTI_ACTIVITY_KIND_DRIVER, start, 1));
  visit(kernelRecord("_Z4axpyPfPKffi", start + 500, start + 1500));
  auto serial = kernelRecord("spin", start + 1500, start + 2500);
  serial.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  visit(serial);
  visit(copyRecord(start + 2500));
  visit(peerCopyRecord(start + 3000));
  visit(memsetRecord(start + 3700));
  visit(graphRecord(start + 3800));
  visit(contextRecord());
  visit(streamRecord());
  visit(syncRecord(start + 4700));
  visit(overheadRecord(start + 5000));
  visit(memoryRecord(start + 5020));
  visit(poolRecord(start + 5020));
  visit(deviceRecord());
  auto power = environmentRecord(CUPTI_ACTIVITY_ENVIRONMENT_POWER, start + 5030);
  power.data.power.power = 350'000;
  visit(power);
}

}  // namespace lacuna::collector::cupti
