// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/nvtx_mapper.h"

// Part of the recorder that lives in other people's programs: no fmt, no heap.
namespace lacuna::prof {
namespace {

using Kind = NvtxPlan::Kind;
using FieldNames = std::span<const std::string_view>;

// The numbers and names of the runtime's schema; tests/libprof/model/nvtx_mapper_test.cpp ties them
// to its header.
enum ExecutionKind : std::uint64_t { kCompute, kCopy, kFill, kCommunication, kUpkeep };
enum SchemaDevice : std::uint64_t { kCpuDevice = 1, kCudaDevice = 2 };
enum SchemaSync : std::uint64_t { kSyncQueue, kSyncItem, kSyncCopy, kSyncWait, kSyncEvent };

namespace operators {
constexpr std::string_view kNames[] = {"correlation", "sequence", "shapes"};
}  // namespace operators
namespace executions {
constexpr std::string_view kNames[] = {"correlation",  "sequence",      "enqueueStartNs",
                                       "enqueueEndNs", "enqueueThread", "queue",
                                       "kind",         "bytes"};
}  // namespace executions
namespace memories {
constexpr std::string_view kNames[] = {"address", "bytes", "sequence", "op",
                                       "tensor",  "queue", "action",   "role"};
}  // namespace memories
namespace steps {
enum { kIndex };
constexpr std::string_view kNames[] = {"index"};
}  // namespace steps
namespace loaders {
enum { kBatch, kLoader, kWorker };
constexpr std::string_view kNames[] = {"batch", "loader", "worker"};
}  // namespace loaders
namespace syncs {
constexpr std::string_view kNames[] = {"sequence", "queue", "kind"};
}  // namespace syncs
namespace hellos {
constexpr std::string_view kNames[] = {"version"};
}  // namespace hellos
namespace queues {
enum { kName, kMemoryBytes, kQueue, kDevice, kDeviceKind, kCores };
constexpr std::string_view kNames[] = {"name",   "memoryBytes", "queue",
                                       "device", "deviceKind",  "cores"};
}  // namespace queues
namespace knobs {
enum { kName, kValue };
constexpr std::string_view kNames[] = {"name", "value"};
}  // namespace knobs

struct KnownSchema {
  std::string_view name;
  Kind kind;
  FieldNames fields;
};
constexpr KnownSchema kSchemas[] = {
    {"lacuna.rt.operator", Kind::Operator, operators::kNames},
    {"lacuna.rt.execution", Kind::Execution, executions::kNames},
    {"lacuna.rt.memory", Kind::Memory, memories::kNames},
    {"lacuna.rt.step", Kind::Step, steps::kNames},
    {"lacuna.rt.loader", Kind::Loader, loaders::kNames},
    {"lacuna.rt.sync", Kind::Sync, syncs::kNames},
    {"lacuna.rt.hello", Kind::Hello, hellos::kNames},
    {"lacuna.rt.queue", Kind::Queue, queues::kNames},
    {"lacuna.rt.knob", Kind::Knob, knobs::kNames},
};

/// Reads an event's values by the plan's field numbers.
class Values {
 public:
  Values(const NvtxPlan& plan, std::span<const std::uint64_t> values)
      : plan_(plan), values_(values) {}
  std::uint64_t operator[](std::size_t which) const {
    const int position = plan_.position(which);
    return position >= 0 && static_cast<std::size_t>(position) < values_.size() ? values_[position]
                                                                                : 0;
  }
  [[nodiscard]] StringId text(std::size_t which) const {
    return StringId(static_cast<std::uint32_t>((*this)[which]));
  }
  [[nodiscard]] std::uint32_t u32(std::size_t which) const {
    return static_cast<std::uint32_t>((*this)[which]);
  }

 private:
  const NvtxPlan& plan_;
  std::span<const std::uint64_t> values_;
};

QueueId queueId(std::uint32_t number) {
  return QueueId(number + 1);
}
/// Queues that a device has besides its first are 256 · n more than that one.
constexpr std::uint32_t kFirstQueues = 256;
DeviceId deviceOf(std::uint32_t queue) {
  return DeviceId(queue % kFirstQueues + 1);
}

/// A value that the enum does not have becomes its zero.
template <class Enum>
Enum enumOr(std::uint64_t value, Enum last) {
  return value <= static_cast<std::uint64_t>(last) ? static_cast<Enum>(value) : Enum{};
}

void mapDevice(const Values& values, NvtxRowSink& sink) {
  using namespace queues;
  Device device;
  device.id = deviceOf(values.u32(kQueue));
  const auto kind = values[kDeviceKind];
  device.kind = kind == kCpuDevice    ? DeviceKind::Cpu
                : kind == kCudaDevice ? DeviceKind::Cuda
                                      : DeviceKind::Other;
  device.index = values.u32(kDevice);
  device.process = ProcessId(1);
  device.name = sink.join(kind == kCpuDevice    ? "CPU"
                          : kind == kCudaDevice ? "CUDA"
                                                : "device",
                          StringId());
  device.memoryBytes = values[kMemoryBytes];
  device.multiprocessors = values.u32(kCores);
  sink.take(device);
}

void mapQueue(const Values& values, NvtxRowSink& sink) {
  using namespace queues;
  if (values.u32(kQueue) < kFirstQueues) mapDevice(values, sink);
  Queue row;
  row.id = queueId(values.u32(kQueue));
  row.device = deviceOf(values.u32(kQueue));
  row.process = ProcessId(1);
  row.nativeId = values[kQueue];
  row.name = values.text(kName);
  sink.take(row);
}

void mapKnob(const Values& values, NvtxRowSink& sink) {
  using namespace knobs;
  Environment row;
  row.process = ProcessId(1);
  row.key = sink.join("knob.", values.text(kName));
  row.value = values.text(kValue);
  sink.take(row);
}

}  // namespace

FieldNames NvtxPlan::wanted(Kind kind) {
  for (const auto& schema : kSchemas) {
    if (schema.kind == kind) return schema.fields;
  }
  return {};
}

NvtxPlan::NvtxPlan(std::string_view domain, std::string_view schema, FieldNames fields) {
  positions_.fill(-1);
  if (domain != kDomain) return;
  for (const auto& known : kSchemas) {
    if (known.name == schema) kind_ = known.kind;
  }
  const auto names = wanted(kind_);
  for (std::size_t which = 0; which < names.size(); ++which) {
    for (std::size_t i = 0; i < fields.size() && i < 127; ++i) {
      if (fields[i] == names[which]) positions_[which] = static_cast<std::int8_t>(i);
    }
  }
}

void mapExecution(const AnnouncedExecution& announced, const NvtxEvent& event, NvtxRowSink& sink) {
  const auto fill = [&](auto& row) {
    row.startNs = event.startNs;
    row.durNs = event.durNs;
    row.queue = queueId(announced.queue);
    row.device = deviceOf(announced.queue);
    row.correlation = announced.correlation;
    row.name = event.name;
  };
  if (announced.kind == kCopy) {
    Memcpy row;
    fill(row);
    row.bytes = announced.bytes;
    row.flags = kAsync;
    sink.take(row);
  } else if (announced.kind == kFill) {
    Memset row;
    fill(row);
    row.bytes = announced.bytes;
    row.flags = kAsync;
    sink.take(row);
  } else {
    Kernel row;
    fill(row);
    row.flags = event.flags & kUnfinished;
    sink.take(row);
  }
  const bool inPlace = announced.enqueueStartNs == 0;
  ApiCall call;
  call.startNs = inPlace ? event.startNs : announced.enqueueStartNs;
  call.durNs = announced.enqueueNs;
  call.thread = inPlace ? event.thread : ThreadId(announced.enqueueThread);
  call.kind = ApiKind::Other;
  call.name = sink.join(announced.kind == kUpkeep ? kUpkeepCall : kEnqueueCall, StringId());
  call.correlation = announced.correlation;
  sink.take(call);
}

Allocation mapMemory(const AnnouncedMemory& announced, const NvtxEvent& event) {
  Allocation row{.timeNs = event.startNs,
                 .thread = event.thread,
                 .device = deviceOf(announced.queue),
                 .queue = queueId(announced.queue)};
  row.sequence = announced.sequence;
  row.action = enumOr(announced.action, MemoryAction::Release);
  row.role = enumOr(announced.role, MemoryRole::Cached);
  row.address = announced.address;
  row.bytes = announced.bytes;
  row.tensor = StringId(announced.tensor);
  row.op = StringId(announced.op);
  return row;
}

namespace {

SyncKind syncKind(std::uint8_t kind) {
  switch (kind) {
    case kSyncItem:
    case kSyncEvent:
      return SyncKind::Event;
    case kSyncWait:
      return SyncKind::StreamWait;
    default:
      return SyncKind::Stream;
  }
}

}  // namespace

Sync mapWait(const AnnouncedWait& announced, const NvtxEvent& event) {
  Sync row{.startNs = event.startNs,
           .durNs = event.durNs,
           .thread = event.thread,
           .queue = queueId(announced.queue)};
  row.device = deviceOf(announced.queue);
  row.kind = syncKind(announced.kind);
  row.name = event.name;
  return row;
}

bool mapNvtxEvent(const NvtxPlan& plan, const NvtxEvent& event, NvtxRowSink& sink) {
  const Values values(plan, event.values);
  switch (plan.kind()) {
    case Kind::Execution:
      mapExecution(executionFrom(values), event, sink);
      return true;
    case Kind::Memory:
      sink.take(mapMemory(memoryFrom(values), event));
      return true;
    case Kind::Sync:
      sink.take(mapWait(waitFrom(values), event));
      return true;
    case Kind::Queue:
      mapQueue(values, sink);
      return true;
    case Kind::Knob:
      mapKnob(values, sink);
      return true;
    default:
      return false;
  }
}

bool nvtxMarkIsRedundant(const NvtxPlan& plan) {
  return plan.kind() == Kind::Memory || plan.kind() == Kind::Queue || plan.kind() == Kind::Knob;
}

NvtxNote noteOf(const NvtxPlan& plan, std::span<const std::uint64_t> all) {
  const Values values(plan, all);
  switch (plan.kind()) {
    case Kind::Operator:
      return {values[NvtxPlan::kOpSequence], values[NvtxPlan::kOpCorrelation],
              values.text(NvtxPlan::kOpShapes)};
    case Kind::Execution:
      return {values[NvtxPlan::kSequence], values[NvtxPlan::kCorrelation], {}};
    case Kind::Step:
      return {values[steps::kIndex], 0, {}};
    case Kind::Loader: {
      NvtxNote note;
      note.payload = values[loaders::kBatch];
      note.ofLoader = true;
      note.loader = values.u32(loaders::kLoader);
      note.worker = static_cast<std::int32_t>(values.u32(loaders::kWorker));
      return note;
    }
    case Kind::Sync:
      return {values[NvtxPlan::kWaitSequence], 0, {}};
    default:
      return {};
  }
}

}  // namespace lacuna::prof
