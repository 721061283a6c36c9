// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/decoder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "symbols/demangled.h"

namespace lacuna::collector::cupti {
namespace {

/// The part of a record that this library version writes, the rest zero.
template <class Record>
Record prefix(const void* record, std::size_t bytes) {
  Record copy{};
  std::memcpy(&copy, record, std::min(bytes, sizeof copy));
  return copy;
}

/// The number in an enum field, by its offset. A newer library or a damaged buffer may hold one
/// that the enum has no name for. Reading such a value as the enum is undefined, and so is a
/// reference to a field of a packed structure.
template <class Record>
std::uint32_t rawWord(const Record& record, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, reinterpret_cast<const std::byte*>(&record) + offset, sizeof number);
  return number;
}

/// No clock shows this; sums with it stay within 64 bits.
constexpr std::uint64_t kLastStamp = std::uint64_t{1} << 62;

template <class Enum>
Enum bounded(std::uint32_t value, Enum last) {
  return value <= static_cast<std::uint32_t>(last) ? static_cast<Enum>(value) : Enum{};
}

std::uint8_t asyncFlag(std::uint32_t flags) {
  return (flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0 ? prof::kAsync : 0;
}

std::string uuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += byte;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

/// "cudaLaunchKernel_v7000" is the name of an ABI; people know cudaLaunchKernel.
std::string withoutVersion(const std::string& name) {
  const std::size_t at = name.rfind("_v");
  const bool digits = at != std::string::npos && at + 2 < name.size() &&
                      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 2, name.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  // The driver's _v2 is part of the function's name.
  return digits && name.size() - at > 4 ? name.substr(0, at) : name;
}

const char* overheadName(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "module loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "CUPTI buffer request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      return "CUPTI unified memory set-up";
    default:
      return "overhead";
  }
}

}  // namespace

void Decoder::decode(const void* record, std::size_t bytes) {
  decodeOne(record, bytes);
  releaseCalls(0);
}

void Decoder::decodeOne(const void* record, std::size_t bytes) {
  if (bytes < sizeof(CUpti_ActivityKind)) return;
  ++stats_.records;
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof kind);
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return kernel(prefix<CUpti_ActivityKernel10>(record, bytes));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return memcpy(prefix<CUpti_ActivityMemcpy6>(record, bytes));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return peerCopy(prefix<CUpti_ActivityMemcpyPtoP4>(record, bytes));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return memset(prefix<CUpti_ActivityMemset4>(record, bytes));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return api(prefix<CUpti_ActivityAPI>(record, bytes), false);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return api(prefix<CUpti_ActivityAPI>(record, bytes), true);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sync(prefix<CUpti_ActivitySynchronization2>(record, bytes));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return overhead(prefix<CUpti_ActivityOverhead3>(record, bytes));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return memory(prefix<CUpti_ActivityMemory4>(record, bytes));
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return memoryPool(prefix<CUpti_ActivityMemoryPool3>(record, bytes));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return device(prefix<CUpti_ActivityDevice5>(record, bytes));
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return context(prefix<CUpti_ActivityContext3>(record, bytes));
    case CUPTI_ACTIVITY_KIND_STREAM:
      return;  // a stream becomes a queue with its first work, when its device is known for sure
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return graph(prefix<CUpti_ActivityGraphTrace2>(record, bytes));
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
      return environment(prefix<CUpti_ActivityEnvironment>(record, bytes));
    default:
      ++stats_.unknownKinds;
  }
}

std::size_t Decoder::decodeBuffer(const std::byte* buffer, std::size_t bytes,
                                  const Strides& strides) {
  std::size_t offset = 0;
  while (bytes - offset >= sizeof(CUpti_ActivityKind)) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, buffer + offset, sizeof kind);
    const std::size_t stride = kind < strides.size() ? strides[kind] : 0;
    if (stride == 0 || stride > bytes - offset) break;
    decodeOne(buffer + offset, stride);
    offset += stride;
  }
  releaseCalls(0);
  return offset;
}

prof::TimeNs Decoder::at(std::uint64_t stampNs) const {
  const auto stamp = static_cast<std::int64_t>(std::min(stampNs, kLastStamp));
  return hooks_.clock != nullptr ? hooks_.clock->monotonic(stamp) : stamp;
}

bool Decoder::spanOf(std::uint64_t start, std::uint64_t end, Span& span) {
  start = std::min(start, kLastStamp);
  end = std::min(end, kLastStamp);
  if (start == 0) {
    ++stats_.zeroStart;
    return false;
  }
  span.startNs = at(start);
  if (end == 0) {
    ++stats_.unfinished;
    span.flags = prof::kUnfinished;
    return true;
  }
  const auto from = static_cast<std::int64_t>(start), to = static_cast<std::int64_t>(end);
  span.durNs = hooks_.clock != nullptr ? hooks_.clock->length(from, to) : to - from;
  if (span.durNs < 0) {
    ++stats_.endBeforeStart;
    span.durNs = 0;
  }
  return true;
}

std::vector<std::uint32_t> Decoder::devices() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, described] : devices_) numbers.push_back(number);
  return numbers;
}

prof::DeviceId Decoder::deviceId(std::uint32_t cudaDevice) {
  const prof::DeviceId id(cudaDevice + 1);
  if (devices_.try_emplace(cudaDevice, false).second) {
    sink_.put(prof::Device{.id = id, .kind = prof::DeviceKind::Cuda, .index = cudaDevice});
  }
  return id;
}

prof::QueueId Decoder::queueId(std::uint32_t cudaDevice, std::uint32_t context,
                               std::uint32_t stream) {
  const auto [at, isNew] = queues_.try_emplace(
      {context, stream}, prof::QueueId(static_cast<std::uint32_t>(queues_.size() + 1)));
  if (isNew) {
    // Process 1 stands for the recorded process itself.
    sink_.put(prof::Queue{.id = at->second,
                          .device = deviceId(cudaDevice),
                          .process = prof::ProcessId(1),
                          .nativeId = stream,
                          .name = sink_.name("stream " + std::to_string(stream))});
  }
  return at->second;
}

prof::StringId Decoder::kernelName(const void* pointer) {
  const std::string_view text = hooks_.text ? hooks_.text(pointer) : std::string_view();
  const auto known = kernelNames_.find(text);
  if (known != kernelNames_.end()) return known->second;
  std::string symbol(text);
  const prof::StringId id =
      sink_.name(hooks_.plainName ? hooks_.plainName(symbol) : symbols::demangled(symbol));
  kernelNames_.emplace(std::move(symbol), id);
  return id;
}

prof::StringId Decoder::apiName(bool driver, std::uint32_t callbackId) {
  const auto [at, isNew] = apiNames_.try_emplace({driver, callbackId});
  if (isNew) {
    std::string name =
        hooks_.apiName ? withoutVersion(hooks_.apiName(driver, callbackId)) : std::string();
    if (name.empty())
      name = std::string(driver ? "driver" : "runtime") + " call " + std::to_string(callbackId);
    at->second = sink_.name(name);
  }
  return at->second;
}

void Decoder::sample(std::uint32_t cudaDevice, const char* name, const char* unit,
                     std::uint64_t stamp, double value) {
  const auto [at, isNew] = tracks_.try_emplace(
      {cudaDevice, name}, prof::TrackId(static_cast<std::uint32_t>(tracks_.size() + 1)));
  if (isNew) {
    sink_.put(prof::CounterTrack{.id = at->second,
                                 .device = deviceId(cudaDevice),
                                 .name = sink_.name(name),
                                 .unit = sink_.name(unit)});
  }
  sink_.put(prof::CounterSample{.timeNs = this->at(stamp), .track = at->second, .value = value});
}

void Decoder::kernel(const CUpti_ActivityKernel10& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  sink_.put(prof::Kernel{
      .startNs = span.startNs,
      .durNs = span.durNs,
      .queue = queueId(record.deviceId, record.contextId, record.streamId),
      .device = deviceId(record.deviceId),
      .correlation = record.correlationId,
      .name = kernelName(record.name),
      .gridX = static_cast<std::uint32_t>(record.gridX),
      .gridY = static_cast<std::uint32_t>(record.gridY),
      .gridZ = static_cast<std::uint32_t>(record.gridZ),
      .blockX = static_cast<std::uint32_t>(record.blockX),
      .blockY = static_cast<std::uint32_t>(record.blockY),
      .blockZ = static_cast<std::uint32_t>(record.blockZ),
      .registersPerThread = record.registersPerThread,
      .staticSharedBytes = static_cast<std::uint32_t>(record.staticSharedMemory),
      .dynamicSharedBytes = static_cast<std::uint32_t>(record.dynamicSharedMemory),
      .graphId = record.graphId,
      .graphNodeId = record.graphNodeId,
      .flags = span.flags,
  });
}

void Decoder::memcpy(const CUpti_ActivityMemcpy6& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  sink_.put(prof::Memcpy{
      .startNs = span.startNs,
      .durNs = span.durNs,
      .queue = queueId(record.deviceId, record.contextId, record.streamId),
      .device = deviceId(record.deviceId),
      .correlation = record.correlationId,
      .bytes = record.bytes,
      .copyKind = bounded(record.copyKind, prof::CopyKind::PeerToPeer),
      .sourceKind = bounded(record.srcKind, prof::MemoryKind::ManagedStatic),
      .targetKind = bounded(record.dstKind, prof::MemoryKind::ManagedStatic),
      .flags = static_cast<std::uint8_t>(span.flags | asyncFlag(record.flags)),
      .graphId = record.graphId,
      .graphNodeId = record.graphNodeId,
  });
}

void Decoder::peerCopy(const CUpti_ActivityMemcpyPtoP4& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  const std::uint32_t peer =
      record.deviceId == record.srcDeviceId ? record.dstDeviceId : record.srcDeviceId;
  sink_.put(prof::Memcpy{
      .startNs = span.startNs,
      .durNs = span.durNs,
      .queue = queueId(record.deviceId, record.contextId, record.streamId),
      .device = deviceId(record.deviceId),
      .peer = deviceId(peer),
      .correlation = record.correlationId,
      .bytes = record.bytes,
      .copyKind = prof::CopyKind::PeerToPeer,
      .sourceKind = bounded(record.srcKind, prof::MemoryKind::ManagedStatic),
      .targetKind = bounded(record.dstKind, prof::MemoryKind::ManagedStatic),
      .flags = static_cast<std::uint8_t>(span.flags | asyncFlag(record.flags)),
      .graphId = record.graphId,
      .graphNodeId = record.graphNodeId,
  });
}

void Decoder::memset(const CUpti_ActivityMemset4& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  sink_.put(prof::Memset{
      .startNs = span.startNs,
      .durNs = span.durNs,
      .queue = queueId(record.deviceId, record.contextId, record.streamId),
      .device = deviceId(record.deviceId),
      .correlation = record.correlationId,
      .bytes = record.bytes,
      .value = record.value,
      .memoryKind = bounded(record.memoryKind, prof::MemoryKind::ManagedStatic),
      .flags = static_cast<std::uint8_t>(span.flags | asyncFlag(record.flags)),
      .graphId = record.graphId,
      .graphNodeId = record.graphNodeId,
  });
}

void Decoder::api(const CUpti_ActivityAPI& record, bool driver) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  const prof::ApiCall call{.startNs = span.startNs,
                           .durNs = span.durNs,
                           .thread = thread(record.threadId),
                           .kind = driver ? prof::ApiKind::Driver : prof::ApiKind::Runtime,
                           .name = apiName(driver, record.cbid),
                           .correlation = record.correlationId,
                           .returnCode = static_cast<std::int32_t>(record.returnValue)};
  if (driver) {
    held_.push_back(call);
    return releaseCalls(kMostHeldCalls);
  }
  stats_.nestedCalls += std::erase_if(held_, [&](const prof::ApiCall& inner) {
    return call.correlation != 0 && inner.correlation == call.correlation;
  });
  put(call);
}

void Decoder::releaseCalls(std::size_t most) {
  if (held_.size() <= most) return;
  const auto end = held_.end() - static_cast<std::ptrdiff_t>(most);
  for (auto call = held_.begin(); call != end; ++call) put(*call);
  held_.erase(held_.begin(), end);
}

void Decoder::put(const prof::ApiCall& call) {
  std::uint64_t& late = lateCalls_[call.correlation % kLateCalls];
  if (call.correlation != 0 && late == call.correlation) {
    ++stats_.nestedCalls;
    return;
  }
  late = call.correlation;
  sink_.put(call);
}

void Decoder::sync(const CUpti_ActivitySynchronization2& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  const auto device = deviceOfContext_.find(record.contextId);
  const bool hasStream =
      record.streamId != static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  prof::Sync row{.startNs = span.startNs,
                 .durNs = span.durNs,
                 .kind = bounded(rawWord(record, offsetof(CUpti_ActivitySynchronization2, type)),
                                 prof::SyncKind::Context),
                 .correlation = record.correlationId};
  if (record.cudaEventId != static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE))
    row.eventId = record.cudaEventId;
  if (device != deviceOfContext_.end()) {
    row.device = deviceId(device->second);
    if (hasStream) row.queue = queueId(device->second, record.contextId, record.streamId);
  }
  sink_.put(row);
}

void Decoder::overhead(const CUpti_ActivityOverhead3& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  prof::Overhead row{.startNs = span.startNs,
                     .durNs = span.durNs,
                     .name = sink_.name(overheadName(
                         rawWord(record, offsetof(CUpti_ActivityOverhead3, overheadKind))))};
  if (rawWord(record, offsetof(CUpti_ActivityOverhead3, objectKind)) ==
      CUPTI_ACTIVITY_OBJECT_THREAD)
    row.thread = thread(record.objectId.pt.threadId);
  sink_.put(row);
}

void Decoder::memory(const CUpti_ActivityMemory4& record) {
  const bool release = rawWord(record, offsetof(CUpti_ActivityMemory4, memoryOperationType)) ==
                       CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  if (!release && rawWord(record, offsetof(CUpti_ActivityMemory4, memoryOperationType)) !=
                      CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION)
    return;
  prof::Allocation row{
      .timeNs = at(record.timestamp), .address = record.address, .bytes = record.bytes};
  const auto kind = bounded(rawWord(record, offsetof(CUpti_ActivityMemory4, memoryKind)),
                            prof::MemoryKind::ManagedStatic);
  const bool onHost = kind == prof::MemoryKind::Pageable || kind == prof::MemoryKind::Pinned;
  if (!onHost) row.device = deviceId(record.deviceId);
  // Stream-ordered memory is what programs work with; whole cudaMalloc blocks are what caching
  // allocators take and cut.
  if (record.isAsync != 0) {
    row.action = release ? prof::MemoryAction::Free : prof::MemoryAction::Allocate;
    row.queue = queueId(record.deviceId, record.contextId, record.streamId);
  } else {
    row.action = release ? prof::MemoryAction::Release : prof::MemoryAction::Reserve;
  }
  if (hooks_.text) row.tensor = sink_.name(hooks_.text(record.name));
  sink_.put(row);
}

void Decoder::memoryPool(const CUpti_ActivityMemoryPool3& record) {
  if (rawWord(record, offsetof(CUpti_ActivityMemoryPool3, memoryPoolType)) !=
      CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
    return;
  sample(record.deviceId, "memory pool size", "bytes", record.timestamp,
         static_cast<double>(record.size));
  sample(record.deviceId, "memory pool in use", "bytes", record.timestamp,
         static_cast<double>(record.utilizedSize));
}

void Decoder::device(const CUpti_ActivityDevice5& record) {
  devices_[record.id] = true;
  sink_.put(prof::Device{
      .id = prof::DeviceId(record.id + 1),
      .kind = prof::DeviceKind::Cuda,
      .index = record.id,
      .name = sink_.name(hooks_.text ? hooks_.text(record.name) : std::string_view()),
      .uuid = sink_.name(uuidText(record.uuid)),
      .memoryBytes = record.globalMemorySize,
      .memoryBandwidth = record.globalMemoryBandwidth * 1000,  // CUPTI gives kB/s
      .multiprocessors = record.numMultiprocessors,
      .clockKhz = record.coreClockRate,
      .computeMajor = static_cast<std::uint16_t>(record.computeCapabilityMajor),
      .computeMinor = static_cast<std::uint16_t>(record.computeCapabilityMinor),
  });
}

void Decoder::context(const CUpti_ActivityContext3& record) {
  deviceOfContext_[record.contextId] = record.deviceId;
}

void Decoder::graph(const CUpti_ActivityGraphTrace2& record) {
  Span span;
  if (!spanOf(record.start, record.end, span)) return;
  sink_.put(prof::Kernel{.startNs = span.startNs,
                         .durNs = span.durNs,
                         .queue = queueId(record.deviceId, record.contextId, record.streamId),
                         .device = deviceId(record.deviceId),
                         .correlation = record.correlationId,
                         .name = sink_.name("CUDA graph"),
                         .graphId = record.graphId,
                         .flags = span.flags});
}

void Decoder::environment(const CUpti_ActivityEnvironment& record) {
  const std::uint64_t stamp = record.timestamp;
  switch (rawWord(record, offsetof(CUpti_ActivityEnvironment, environmentKind))) {
    case CUPTI_ACTIVITY_ENVIRONMENT_SPEED:
      sample(record.deviceId, "SM clock", "MHz", stamp, record.data.speed.smClock);
      return sample(record.deviceId, "memory clock", "MHz", stamp, record.data.speed.memoryClock);
    case CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE:
      return sample(record.deviceId, "temperature", "°C", stamp,
                    record.data.temperature.gpuTemperature);
    case CUPTI_ACTIVITY_ENVIRONMENT_POWER:
      return sample(record.deviceId, "power", "mW", stamp, record.data.power.power);
    case CUPTI_ACTIVITY_ENVIRONMENT_COOLING:
      return sample(record.deviceId, "fan speed", "%", stamp, record.data.cooling.fanSpeed);
    default:
      ++stats_.unknownKinds;
  }
}

}  // namespace lacuna::collector::cupti
