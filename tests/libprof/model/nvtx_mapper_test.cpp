// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/nvtx_mapper.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../../runtime/include/lacuna/runtime/nvtx_schema.h"

/// Ties the mapper to the header by which the runtime speaks.
namespace lacuna::prof {
namespace {

/// A payload as a listener sees it: the header's field names, and their values in order.
struct Payload {
  std::string schema;
  std::vector<std::string_view> names;
  std::vector<std::uint64_t> values;
  [[nodiscard]] NvtxPlan plan() const { return {LACUNA_RT_DOMAIN, schema, names}; }
};

#define LACUNA_TEST_FIELD(type, name, nvtxType) \
  payload.names.push_back(#name);               \
  payload.values.push_back(static_cast<std::uint64_t>(source.name));
#define LACUNA_TEST_PAYLOAD(Name, FIELDS, schemaName, schemaId) \
  Payload payloadOf(const Name& source) {                       \
    Payload payload;                                            \
    payload.schema = schemaName;                                \
    FIELDS(LACUNA_TEST_FIELD)                                   \
    return payload;                                             \
  }
LACUNA_RT_PAYLOADS(LACUNA_TEST_PAYLOAD)

class Rows final : public NvtxRowSink {
 public:
  StringId join(std::string_view prefix, StringId id) override {
    texts.push_back(std::string(prefix) + std::to_string(id.value));
    return StringId(1000 + static_cast<std::uint32_t>(texts.size()));
  }
  void take(const Device& row) override { devices.push_back(row); }
  void take(const Queue& row) override { queues.push_back(row); }
  void take(const ApiCall& row) override { calls.push_back(row); }
  void take(const Kernel& row) override { kernels.push_back(row); }
  void take(const Memcpy& row) override { copies.push_back(row); }
  void take(const Memset& row) override { fills.push_back(row); }
  void take(const Sync& row) override { syncs.push_back(row); }
  void take(const Allocation& row) override { allocations.push_back(row); }
  void take(const Environment& row) override { settings.push_back(row); }

  std::vector<std::string> texts;
  std::vector<Device> devices;
  std::vector<Queue> queues;
  std::vector<ApiCall> calls;
  std::vector<Kernel> kernels;
  std::vector<Memcpy> copies;
  std::vector<Memset> fills;
  std::vector<Sync> syncs;
  std::vector<Allocation> allocations;
  std::vector<Environment> settings;
};

template <class Source>
Rows mapped(const Source& source) {
  const Payload payload = payloadOf(source);
  NvtxEvent event;
  event.thread = ThreadId(77);
  event.startNs = 5000;
  event.durNs = 300;
  event.name = StringId(9);
  event.values = payload.values;
  Rows rows;
  mapNvtxEvent(payload.plan(), event, rows);
  return rows;
}

LacunaRtExecution execution(std::uint32_t kind) {
  LacunaRtExecution source{};
  source.correlation = 41;
  source.sequence = 7;
  source.enqueueStartNs = 4000;
  source.enqueueEndNs = 4090;
  source.enqueueThread = 1234;
  source.queue = 2;
  source.kind = kind;
  source.bytes = 4096;
  return source;
}

TEST(NvtxMapper, KnowsEveryFieldThatItReadsInTheHeader) {
#define LACUNA_TEST_WANTED(Name, FIELDS, schemaName, schemaId)                       \
  {                                                                                  \
    const Payload payload = payloadOf(Name{});                                       \
    const NvtxPlan plan = payload.plan();                                            \
    EXPECT_NE(plan.kind(), NvtxPlan::Kind::None) << schemaName;                      \
    const auto wanted = NvtxPlan::wanted(plan.kind());                               \
    for (std::size_t i = 0; i < wanted.size(); ++i) {                                \
      EXPECT_GE(plan.position(i), 0) << schemaName << " has no field " << wanted[i]; \
    }                                                                                \
    EXPECT_LE(payload.names.size(), NvtxPlan::kMaxFields) << schemaName;             \
  }
  LACUNA_RT_PAYLOADS(LACUNA_TEST_WANTED)
  EXPECT_EQ(NvtxPlan::kVersion, LACUNA_RT_SCHEMA_VERSION);
  EXPECT_EQ(NvtxPlan::kDomain, LACUNA_RT_DOMAIN);
}

TEST(NvtxMapper, ExecutionInPlaceIsEnqueuedWhenItBegins) {
  LacunaRtExecution source = execution(LACUNA_RT_EXECUTION_COMPUTE);
  source.enqueueStartNs = source.enqueueEndNs = 0;
  const Rows rows = mapped(source);
  ASSERT_EQ(rows.calls.size(), 1u);
  EXPECT_EQ(rows.calls[0].startNs, 5000);
  EXPECT_EQ(rows.calls[0].durNs, 0);
  EXPECT_EQ(rows.calls[0].thread, ThreadId(77));
  EXPECT_EQ(rows.calls[0].correlation, 41u);
}

TEST(NvtxMapper, UpkeepIsAKernelWhoseLaunchCallIsUpkeep) {
  const Rows program = mapped(execution(LACUNA_RT_EXECUTION_COMPUTE));
  EXPECT_EQ(program.texts, std::vector<std::string>{"enqueue0"});
  const Rows upkeep = mapped(execution(LACUNA_RT_EXECUTION_UPKEEP));
  EXPECT_EQ(upkeep.kernels.size(), 1u);
  EXPECT_EQ(upkeep.texts, std::vector<std::string>{"enqueue.upkeep0"});
}

TEST(NvtxMapper, EnumsOfHeaderAndModelHaveTheSameNumbers) {
  EXPECT_EQ(static_cast<int>(MemoryRole::Parameter), LACUNA_RT_ROLE_PARAMETER);
  EXPECT_EQ(static_cast<int>(MemoryRole::Activation), LACUNA_RT_ROLE_ACTIVATION);
  EXPECT_EQ(static_cast<int>(MemoryRole::Cached), LACUNA_RT_ROLE_CACHED);
  EXPECT_EQ(static_cast<int>(MemoryAction::ExternalAllocate), LACUNA_RT_MEMORY_EXTERNAL_ALLOCATE);
  EXPECT_EQ(static_cast<int>(MemoryAction::Release), LACUNA_RT_MEMORY_RELEASE);
}

TEST(NvtxMapper, ExecutionBecomesAKernelAndItsLaunchCall) {
  const Rows rows = mapped(execution(LACUNA_RT_EXECUTION_COMPUTE));
  ASSERT_EQ(rows.kernels.size(), 1u);
  EXPECT_EQ(rows.kernels[0].startNs, 5000);
  EXPECT_EQ(rows.kernels[0].durNs, 300);
  EXPECT_EQ(rows.kernels[0].queue, QueueId(3));
  EXPECT_EQ(rows.kernels[0].device, DeviceId(3));
  EXPECT_EQ(rows.kernels[0].correlation, 41u);
  EXPECT_EQ(rows.kernels[0].name, StringId(9));
  ASSERT_EQ(rows.calls.size(), 1u);
  EXPECT_EQ(rows.calls[0].startNs, 4000);
  EXPECT_EQ(rows.calls[0].durNs, 90);
  EXPECT_EQ(rows.calls[0].thread, ThreadId(1234));
  EXPECT_EQ(rows.calls[0].correlation, 41u);
}

TEST(NvtxMapper, CommunicationIsAKernelAndCopiesAndFillsAreNot) {
  EXPECT_EQ(mapped(execution(LACUNA_RT_EXECUTION_COMMUNICATION)).kernels.size(), 1u);
  const Rows copy = mapped(execution(LACUNA_RT_EXECUTION_COPY));
  ASSERT_EQ(copy.copies.size(), 1u);
  EXPECT_EQ(copy.copies[0].bytes, 4096u);
  EXPECT_TRUE(copy.kernels.empty());
  const Rows fill = mapped(execution(LACUNA_RT_EXECUTION_FILL));
  ASSERT_EQ(fill.fills.size(), 1u);
  EXPECT_EQ(fill.fills[0].correlation, 41u);
}

TEST(NvtxMapper, MemoryBecomesAnAllocation) {
  LacunaRtMemory source{};
  source.address = 0x7000;
  source.bytes = 512;
  source.sequence = 11;
  source.op = 21;
  source.tensor = 22;
  source.action = LACUNA_RT_MEMORY_FREE;
  source.role = LACUNA_RT_ROLE_GRADIENT;
  const Rows rows = mapped(source);
  ASSERT_EQ(rows.allocations.size(), 1u);
  const Allocation& row = rows.allocations[0];
  EXPECT_EQ(row.timeNs, 5000);
  EXPECT_EQ(row.thread, ThreadId(77));
  EXPECT_EQ(row.queue, QueueId(1));
  EXPECT_EQ(row.sequence, 11u);
  EXPECT_EQ(row.action, MemoryAction::Free);
  EXPECT_EQ(row.role, MemoryRole::Gradient);
  EXPECT_EQ(row.address, 0x7000u);
  EXPECT_EQ(row.bytes, 512u);
  EXPECT_EQ(row.op, StringId(21));
  EXPECT_EQ(row.tensor, StringId(22));
}

TEST(NvtxMapper, UnknownRolesAndActionsAreNotInvented) {
  LacunaRtMemory source{};
  source.action = 200;
  source.role = 201;
  const Rows rows = mapped(source);
  EXPECT_EQ(rows.allocations[0].role, MemoryRole::Other);
  EXPECT_EQ(rows.allocations[0].action, MemoryAction::Allocate);
}

TEST(NvtxMapper, FurtherQueuesOfADeviceAreOnIt) {
  LacunaRtQueue queue{};
  queue.deviceKind = LACUNA_RT_DEVICE_CPU;
  const Rows first = mapped(queue);
  queue.queue = 512;
  const Rows further = mapped(queue);
  ASSERT_EQ(first.devices.size(), 1u);
  EXPECT_TRUE(further.devices.empty());
  ASSERT_EQ(further.queues.size(), 1u);
  EXPECT_EQ(further.queues[0].device, first.devices[0].id);
  EXPECT_NE(further.queues[0].id, first.queues[0].id);
  LacunaRtExecution execution{};
  execution.queue = 512;
  const Rows ran = mapped(execution);
  ASSERT_EQ(ran.kernels.size(), 1u);
  EXPECT_EQ(ran.kernels[0].device, first.devices[0].id);
  EXPECT_EQ(ran.kernels[0].queue, further.queues[0].id);
}

TEST(NvtxMapper, SyncQueueAndKnobBecomeTheirRows) {
  LacunaRtSync sync{};
  sync.kind = LACUNA_RT_SYNC_ITEM;
  sync.queue = 1;
  const Rows syncs = mapped(sync);
  ASSERT_EQ(syncs.syncs.size(), 1u);
  EXPECT_EQ(syncs.syncs[0].kind, SyncKind::Event);
  EXPECT_EQ(syncs.syncs[0].queue, QueueId(2));

  sync.kind = LACUNA_RT_SYNC_WAIT;
  sync.queue = 256;
  sync.other = 0;
  const Rows between = mapped(sync);
  ASSERT_EQ(between.syncs.size(), 1u);
  EXPECT_EQ(between.syncs[0].kind, SyncKind::StreamWait) << "a queue waits, not the host";
  EXPECT_EQ(between.syncs[0].queue, QueueId(257)) << "the queue that waits";

  LacunaRtQueue queue{};
  queue.name = 31;
  queue.queue = 1;
  queue.device = 0;
  queue.deviceKind = LACUNA_RT_DEVICE_CPU;
  queue.cores = 8;
  const Rows described = mapped(queue);
  ASSERT_EQ(described.queues.size(), 1u);
  ASSERT_EQ(described.devices.size(), 1u);
  EXPECT_EQ(described.queues[0].id, QueueId(2));
  EXPECT_EQ(described.queues[0].device, described.devices[0].id);
  EXPECT_EQ(described.queues[0].name, StringId(31));
  EXPECT_EQ(described.devices[0].kind, DeviceKind::Cpu);
  EXPECT_EQ(described.devices[0].multiprocessors, 8u);

  LacunaRtKnob knob{};
  knob.name = 5;
  knob.value = 6;
  const Rows knobs = mapped(knob);
  ASSERT_EQ(knobs.settings.size(), 1u);
  EXPECT_EQ(knobs.texts.back(), "knob.5");
  EXPECT_EQ(knobs.settings[0].value, StringId(6));
}

TEST(NvtxMapper, RangesAreAnnotatedWithTheirPayload) {
  LacunaRtOperator op{};
  op.correlation = 3;
  op.sequence = 4;
  op.shapes = 5;
  const Payload payload = payloadOf(op);
  const NvtxNote note = noteOf(payload.plan(), payload.values);
  EXPECT_EQ(note.correlation, 3u);
  EXPECT_EQ(note.payload, 4u);
  EXPECT_EQ(note.text, StringId(5));
}

TEST(NvtxMapper, AStageOfALoaderNamesItsLoader) {
  LacunaRtLoader stage{};
  stage.batch = 7;
  stage.loader = 2;
  for (const std::int32_t worker : {3, -1}) {
    stage.worker = worker;
    const Payload payload = payloadOf(stage);
    const NvtxNote note = noteOf(payload.plan(), payload.values);
    EXPECT_EQ(note.payload, 7u);
    EXPECT_TRUE(note.ofLoader);
    EXPECT_EQ(note.loader, 2u);
    EXPECT_EQ(note.worker, worker);
  }
  EXPECT_FALSE(noteOf(payloadOf(LacunaRtStep{}).plan(), {}).ofLoader);
}

TEST(NvtxMapper, AnotherDomainsSchemasAreNotTheRuntimes) {
  const Payload payload = payloadOf(LacunaRtMemory{});
  EXPECT_EQ(NvtxPlan("other", payload.schema, payload.names).kind(), NvtxPlan::Kind::None);
  EXPECT_EQ(NvtxPlan(LACUNA_RT_DOMAIN, "lacuna.rt.future", payload.names).kind(),
            NvtxPlan::Kind::None);
}

TEST(NvtxMapper, AShorterPayloadReadsAsZero) {
  Payload payload = payloadOf(execution(LACUNA_RT_EXECUTION_COMPUTE));
  NvtxEvent event;
  event.values = std::span(payload.values).first(1);
  Rows rows;
  EXPECT_TRUE(mapNvtxEvent(payload.plan(), event, rows));
  EXPECT_EQ(rows.kernels[0].correlation, 41u);
  ASSERT_EQ(rows.calls.size(), 1u);
  EXPECT_EQ(rows.calls[0].durNs, 0);
}

}  // namespace
}  // namespace lacuna::prof
