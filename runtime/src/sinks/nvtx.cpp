// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "alloc/allocator.h"
#include "backend/common/queue.h"
#include "core/fork_locks.h"
#include "instrument/module_range.h"
#include "instrument/observer.h"
#include "instrument/operator_recorder.h"
#include "instrument/own_knobs.h"
#include "instrument/step_times.h"
#include "lacuna/runtime/instrument.h"
#include "sinks/operator_report.h"
#include "sinks/profile_table.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

namespace {

nvtxDomainHandle_t gDomain = nullptr;

/// The tool keeps a registered text for good, so each is registered once.
nvtxStringHandle_t handleOf(const Name& name) {
  void* handle = name.handle.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = ::nvtxDomainRegisterStringA(gDomain, name.text);
    name.handle.store(handle, std::memory_order_release);
  }
  return static_cast<nvtxStringHandle_t>(handle);
}

nvtxStringHandle_t handleOf(std::string_view text) {
  return handleOf(*internName(text));
}

std::uint64_t fieldOf(const Name& name) {
  return reinterpret_cast<std::uintptr_t>(handleOf(name));
}

/// The handle of a text that lives for good; a small table per thread saves looking the text up
/// again.
std::uint64_t fieldOf(const char* text) {
  if (text == nullptr || *text == '\0') return 0;
  struct Slot {
    const char* text;
    std::uint64_t handle;
  };
  thread_local constinit Slot slots[64] = {};
  const auto bits = reinterpret_cast<std::uintptr_t>(text);
  Slot& slot = slots[(bits >> 3 ^ bits >> 9) % std::size(slots)];
  if (slot.text != text) slot = {text, fieldOf(*internName(text))};
  return slot.handle;
}

template <class Payload>
struct SchemaId;
#define LACUNA_RT_SCHEMA_ID(Type, FIELDS, schemaName, id) \
  template <>                                             \
  struct SchemaId<Type> {                                 \
    static constexpr std::uint64_t kValue = id;           \
  };
LACUNA_RT_PAYLOADS(LACUNA_RT_SCHEMA_ID)

void registerSchema(const char* name, std::uint64_t id, std::size_t size,
                    const nvtxPayloadSchemaEntry_t* entries, std::size_t count) {
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  attributes.name = name;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries;
  attributes.numEntries = count;
  attributes.payloadStaticSize = size;
  attributes.schemaId = id;
  ::nvtxPayloadSchemaRegister(gDomain, &attributes);
}

#define LACUNA_RT_ENTRY(type, field, nvtxType)              \
  {0, NVTX_PAYLOAD_ENTRY_TYPE_##nvtxType, #field,  nullptr, \
   0, offsetof(Payload, field),           nullptr, nullptr},
#define LACUNA_RT_REGISTER(Type, FIELDS, schemaName, id)                            \
  {                                                                                 \
    using Payload = Type;                                                           \
    static const nvtxPayloadSchemaEntry_t kEntries[] = {FIELDS(LACUNA_RT_ENTRY)};   \
    registerSchema(schemaName, id, sizeof(Payload), kEntries, std::size(kEntries)); \
  }

nvtxEventAttributes_t attributesOf(nvtxStringHandle_t message, std::uint32_t category) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = message;
  return event;
}

template <class Payload>
void attach(nvtxEventAttributes_t& event, nvtxPayloadData_t& data, const Payload& payload) {
  data = {SchemaId<Payload>::kValue, sizeof(Payload), &payload};
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<std::uintptr_t>(&data);
}

template <class Payload>
void push(nvtxStringHandle_t message, std::uint32_t category, const Payload& payload) {
  instrument::reportBegun();
  nvtxEventAttributes_t event = attributesOf(message, category);
  nvtxPayloadData_t data;
  attach(event, data, payload);
  ::nvtxDomainRangePushEx(gDomain, &event);
}

template <class Payload>
void mark(nvtxStringHandle_t message, std::uint32_t category, const Payload& payload) {
  instrument::reportBegun();
  nvtxEventAttributes_t event = attributesOf(message, category);
  nvtxPayloadData_t data;
  attach(event, data, payload);
  ::nvtxDomainMarkEx(gDomain, &event);
}

void push(nvtxStringHandle_t message, std::uint32_t category) {
  instrument::reportBegun();
  const nvtxEventAttributes_t event = attributesOf(message, category);
  ::nvtxDomainRangePushEx(gDomain, &event);
}

bool nvtxOn() {
  return (instrument::sinks() & instrument::kNvtxSink) != 0;
}

void registerCounter(const char* name, std::uint64_t id) {
  nvtxCounterAttr_t attributes{};
  attributes.structSize = sizeof(attributes);
  attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  attributes.name = name;
  attributes.scopeId = NVTX_SCOPE_CURRENT_VM;
  attributes.counterId = id;
  ::nvtxCounterRegister(gDomain, &attributes);
}

std::uint64_t depthCounterOf(int index) {
  return LACUNA_RT_COUNTER_QUEUE_DEPTH_ID + static_cast<std::uint64_t>(index);
}

constexpr Device kPlanned[] = {kCpu, kMeta};  ///< devices whose iterations a step begins and ends

constexpr std::uint32_t kCountedLoaders = 256;
std::atomic<std::int64_t> gLoaderCpuNs[kCountedLoaders];
thread_local bool tInLoaderStage = false;

std::int64_t threadCpuNs() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

const Name kMemory{LACUNA_RT_MSG_MEMORY};
const Name kStep{LACUNA_RT_MSG_STEP};
const Name kPhases[] = {{LACUNA_RT_MSG_PHASE_LOAD},       {LACUNA_RT_MSG_PHASE_FORWARD},
                        {LACUNA_RT_MSG_PHASE_BACKWARD},   {LACUNA_RT_MSG_PHASE_OPTIMIZER},
                        {LACUNA_RT_MSG_PHASE_EVALUATION}, {LACUNA_RT_MSG_PHASE_CHECKPOINT},
                        {LACUNA_RT_MSG_PHASE_SKIPPED}};
const Name kStages[] = {{LACUNA_RT_MSG_LOADER_FETCH},   {LACUNA_RT_MSG_LOADER_DECODE},
                        {LACUNA_RT_MSG_LOADER_AUGMENT}, {LACUNA_RT_MSG_LOADER_COLLATE},
                        {LACUNA_RT_MSG_LOADER_PUT},     {LACUNA_RT_MSG_LOADER_WAIT}};
/// Origins of memory that a stage asks for.
constexpr const char* kStageOrigins[] = {"loader.fetch",   "loader.decode", "loader.augment",
                                         "loader.collate", "loader.put",    "loader.wait"};

// Runs before main: a tool that is attached answers with a domain handle, none answers with null.
std::uint32_t attachTool() {
  gDomain = ::nvtxDomainCreateA(LACUNA_RT_DOMAIN);
  if (gDomain == nullptr) return 0;
#define LACUNA_RT_NAME_CATEGORY(name, number, text) \
  ::nvtxDomainNameCategoryA(gDomain, number, text);
  LACUNA_RT_CATEGORIES(LACUNA_RT_NAME_CATEGORY)
  LACUNA_RT_PAYLOADS(LACUNA_RT_REGISTER)
  const LacunaRtHello hello{LACUNA_RT_SCHEMA_VERSION, static_cast<std::uint32_t>(::getpid())};
  mark(handleOf(LACUNA_RT_MSG_HELLO), LACUNA_RT_CATEGORY_INFO, hello);
  registerCounter(LACUNA_RT_COUNTER_QUEUE_DEPTH, LACUNA_RT_COUNTER_QUEUE_DEPTH_ID);
  instrument::offerModule(gDomain);
  return instrument::kNvtxSink;
}

struct Names {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Name>> all;
};
Names& names() {
  static auto* one = new Names;
  return *one;
}

const ForkLock kNamesForkLock{LockOrder::Names, [] { names().mutex.lock(); },
                              [] { names().mutex.unlock(); }};

}  // namespace

const Name* internName(std::string_view text) {
  const std::lock_guard lock(names().mutex);
  const auto [at, fresh] = names().all.try_emplace(std::string(text));
  if (fresh) at->second.reset(new Name{at->first.c_str()});
  return at->second.get();
}

namespace instrument {

std::atomic<std::uint32_t> gSinks{attachTool()};
thread_local constinit OpContext* tOp = nullptr;
thread_local constinit ThreadState tState;

std::int64_t nowNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec;
}

std::uint32_t threadId() {
  thread_local constinit std::uint32_t id = 0;
  if (id == 0) id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  return id;
}

std::uint64_t nextCorrelation() {
  // In blocks, so that an operator need not take a counter from all other threads.
  constexpr std::uint64_t kBlock = 1024;
  static std::atomic<std::uint64_t> blocks{0};
  thread_local constinit std::uint64_t last = 0;
  if (last % kBlock == 0) last = blocks.fetch_add(kBlock, std::memory_order_relaxed);
  return ++last;
}

namespace {

/// Gives `take` words that differ where the types or sizes of inputs do.
template <class Take>
void forEachWord(std::span<const Tensor* const> inputs, const Take& take) {
  for (const Tensor* input : inputs) {
    if (!input->defined()) continue;
    const TensorImpl& impl = *input->impl();
    take(static_cast<std::int64_t>(impl.dtype) << 8 | impl.shape.rank());
    for (const std::int64_t dim : impl.shape) take(dim);
  }
}

const Name* shapesByText(std::span<const Tensor* const> inputs) {
  std::string text;
  for (const Tensor* input : inputs) {
    if (!input->defined()) continue;
    if (!text.empty()) text += ' ';
    text += name(input->dtype()) + input->shape().toString();
  }
  return internName(text);
}

/// "f32[64,784] f32[512,784]"; a small table per thread saves building the text again.
const Name* shapesOf(std::span<const Tensor* const> inputs) {
  if (inputs.empty()) return nullptr;
  struct Slot {
    std::array<std::int64_t, 40> words;
    std::size_t used;
    const Name* name = nullptr;
  };
  thread_local const std::unique_ptr<Slot[]> slots(new Slot[256]());
  // Each word has a factor of its own, so that no product waits for the one before. The upper bits
  // are the good ones.
  constexpr std::uint64_t kStep = 2 * 0x9E3779B97F4A7C15U;
  std::uint64_t hash = 0, factor = 0x9E3779B97F4A7C15U;
  forEachWord(inputs, [&](std::int64_t word) {
    hash += static_cast<std::uint64_t>(word) * factor;
    factor += kStep;
  });
  Slot& slot = slots[hash >> 56];
  std::size_t used = 0;
  std::int64_t different = 0;
  forEachWord(inputs, [&](std::int64_t word) {
    if (used < slot.words.size()) different |= slot.words[used] ^ word;
    ++used;
  });
  if (used > slot.words.size()) return shapesByText(inputs);
  if (slot.name == nullptr || different != 0 || slot.used != used) {
    slot.name = shapesByText(inputs);
    slot.used = 0;
    forEachWord(inputs, [&](std::int64_t word) { slot.words[slot.used++] = word; });
  }
  return slot.name;
}

std::uint32_t directionOf(const OpContext& op) {
  if (op.direction != Direction::None) return static_cast<std::uint32_t>(op.direction);
  return static_cast<std::uint32_t>(tState.direction);
}

}  // namespace

void opBegin(OpContext& op, std::span<const Tensor* const> inputs, bool small) {
  op.announced = true;
  if (recordingOperators()) recordOperator(op, inputs);
  op.correlation = op.composite ? 0 : nextCorrelation();
  const Name* shapes = shapesOf(inputs);
  op.shapes = shapes != nullptr ? shapes->text : "";
  if (op.module == nullptr) op.module = tState.module;
  if (nvtxOn()) {
    const bool held = small && gTool.complete != nullptr;
    LacunaRtOperator own;
    const auto* payload = new (held ? holdOperator(op, fieldOf(*op.name)) : &own)
        LacunaRtOperator{op.correlation,
                         op.sequence,
                         shapes != nullptr ? fieldOf(*shapes) : 0,
                         op.module != nullptr ? fieldOf(*op.module) : 0,
                         CpuQueue::numberOf(CpuQueue::chosenIndex()),
                         directionOf(op)};
    if (!held) push(handleOf(*op.name), LACUNA_RT_CATEGORY_OPERATOR, *payload);
  }
  if ((sinks() & kTableSink) != 0) op.startNs = nowNs();
}

void opEnd(OpContext& op) {
  if (nvtxOn() && !finishOperator(op)) ::nvtxDomainRangePop(gDomain);
  if (op.startNs == 0) return;
  const std::int64_t total = nowNs() - op.startNs;
  tableOperator(op, total);
  if (op.outer != nullptr) {
    op.outer->childNs += total;
    op.outer->memory += op.memory;
    op.outer->childMemory += op.memory;
    op.outer->elsewhere = op.outer->elsewhere || op.elsewhere;
  }
}

bool beginInOperator(const Name& name, LacunaRtExecutionKind kind, std::uint64_t bytes,
                     std::uint64_t flops, std::uint64_t sequence, std::uint32_t queue) {
  const OpContext* op = tOp;
  if (op == nullptr || tPending.op != op || sinks() != kNvtxSink ||
      kind == LACUNA_RT_EXECUTION_UPKEEP)
    return false;
  LacunaRtExecution* taken = takeExecutionBegin(op->correlation, fieldOf(name));
  if (taken == nullptr) return false;
  new (taken)
      LacunaRtExecution{op->correlation, sequence, 0, 0, threadId(), queue, kind, 0, bytes, flops};
  return true;
}

void endInOperator() {
  // The events of the execution may have been reported in between; its range is then open.
  if (!takeExecutionEnd()) ::nvtxDomainRangePop(gDomain);
}

void executionBegin(Execution& execution) {
  execution.announced = nvtxOn();
  if (!execution.announced) return;
  LacunaRtExecution own;
  LacunaRtExecution* taken = takeExecutionBegin(execution.correlation, fieldOf(*execution.name));
  const auto* payload = new (taken != nullptr ? taken : &own) LacunaRtExecution{
      execution.correlation, execution.sequence, execution.enqueueStartNs, execution.enqueueEndNs,
      execution.thread,      execution.queue,    execution.kind,           0,
      execution.bytes,       execution.flops};
  if (taken == nullptr) push(handleOf(*execution.name), LACUNA_RT_CATEGORY_EXECUTION, *payload);
}

void executionEnd(const Execution& execution, std::int64_t startNs) {
  if (execution.announced && !takeExecutionEnd()) ::nvtxDomainRangePop(gDomain);
  if ((sinks() & kTableSink) == 0 || startNs == 0) return;  // it began before there was a table
  tableExecution(execution, nowNs() - startNs);
}

void memoryEvent(LacunaRtMemoryAction action, std::uintptr_t address, std::size_t bytes, Role role,
                 const char* op, const char* tensor, QueuePoint point, bool elsewhere) {
  if ((sinks() & kTableSink) != 0 && tOp != nullptr) {
    if (action == LACUNA_RT_MEMORY_ALLOCATE) tOp->memory += static_cast<std::int64_t>(bytes);
    if (action == LACUNA_RT_MEMORY_FREE) tOp->memory -= static_cast<std::int64_t>(bytes);
    tOp->elsewhere = tOp->elsewhere || elsewhere;
  }
  if (!nvtxOn() || elsewhere) return;
  LacunaRtMemory own;
  LacunaRtMemory* taken = takeMemory(action);
  const auto* payload =
      new (taken != nullptr ? taken : &own) LacunaRtMemory{address,
                                                           bytes,
                                                           point.sequence,
                                                           fieldOf(op),
                                                           fieldOf(tensor),
                                                           point.queue,
                                                           static_cast<std::uint8_t>(action),
                                                           static_cast<std::uint8_t>(role),
                                                           0};
  if (taken != nullptr) return;
  if (gTool.memory != nullptr) return gTool.memory(gDomain, payload);
  mark(handleOf(kMemory), LACUNA_RT_CATEGORY_MEMORY, *payload);
}

namespace {

void plainMark(const char* message, std::uint32_t category) {
  if (!nvtxOn()) return;
  reportBegun();
  const nvtxEventAttributes_t event = attributesOf(handleOf(message), category);
  ::nvtxDomainMarkEx(gDomain, &event);
}

}  // namespace

void memoryMark(const char* message) {
  plainMark(message, LACUNA_RT_CATEGORY_MEMORY);
}

void infoMark(const char* message) {
  plainMark(message, LACUNA_RT_CATEGORY_INFO);
}

void lossScale(double factor) {
  if (!nvtxOn()) return;
  reportBegun();
  nvtxEventAttributes_t event =
      attributesOf(handleOf(LACUNA_RT_MSG_LOSS_SCALE), LACUNA_RT_CATEGORY_INFO);
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = factor;
  ::nvtxDomainMarkEx(gDomain, &event);
}

void queueCreated(int index, const char* name, std::uint32_t number, std::uint32_t thread,
                  std::uint32_t cores) {
  if (!nvtxOn()) return;
  if (index != 0) registerCounter(LACUNA_RT_COUNTER_QUEUE_DEPTH, depthCounterOf(index));
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto pageSize = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const LacunaRtQueue payload{fieldOf(name),        pages * pageSize, number, 0,
                              LACUNA_RT_DEVICE_CPU, thread,           cores,  0};
  mark(handleOf(LACUNA_RT_MSG_QUEUE), LACUNA_RT_CATEGORY_INFO, payload);
}

void queueDepth(int index, std::uint64_t waiting) {
  if (nvtxOn())
    ::nvtxCounterSampleInt64(gDomain, depthCounterOf(index), static_cast<std::int64_t>(waiting));
}

SyncRange::SyncRange(const Name& name, LacunaRtSyncKind kind, std::uint64_t sequence,
                     std::uint32_t queue, std::uint32_t other)
    : pushed_(nvtxOn()) {
  if (pushed_) [[unlikely]] {
    push(handleOf(name), LACUNA_RT_CATEGORY_SYNC, LacunaRtSync{sequence, queue, kind, other, 0});
  }
}
SyncRange::~SyncRange() {
  if (pushed_) ::nvtxDomainRangePop(gDomain);
}

ModuleRange::ModuleRange(const Name& path) : before_(tState.module), pushed_(nvtxOn()) {
  tState.module = &path;
  if (pushed_) push(handleOf(path), LACUNA_RT_CATEGORY_MODULE);
}
ModuleRange::~ModuleRange() {
  if (pushed_) ::nvtxDomainRangePop(gDomain);
  tState.module = before_;
}

}  // namespace instrument

StepScope::StepScope(std::uint64_t index, std::uint64_t samples) : pushed_(nvtxOn()) {
  if (pushed_) [[unlikely]]
    push(handleOf(kStep), LACUNA_RT_CATEGORY_STEP, LacunaRtStep{index, samples});
  if (instrument::timesSteps()) [[unlikely]]
    instrument::stepBegins();
  exceptions_ = std::uncaught_exceptions();
  for (std::size_t i = 0; i < planned_.size(); ++i)
    planned_[i] = allocatorOf(kPlanned[i]).beginIteration();
}
StepScope::~StepScope() {
  const bool complete = std::uncaught_exceptions() == exceptions_;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i]) allocatorOf(kPlanned[i]).endIteration(complete);
  }
  if (pushed_) ::nvtxDomainRangePop(gDomain);
  if (complete && instrument::timesSteps()) [[unlikely]]
    instrument::stepEnds();
}

PhaseScope::PhaseScope(Phase phase) : pushed_(nvtxOn()) {
  if (graph::tracing()) [[unlikely]]
    graph::tTrace->notePhase(phase);
  if (pushed_) [[unlikely]]
    push(handleOf(kPhases[static_cast<std::size_t>(phase)]), LACUNA_RT_CATEGORY_PHASE);
}
PhaseScope::~PhaseScope() {
  if (graph::tracing()) [[unlikely]]
    graph::tTrace->notePhase(std::nullopt);
  if (pushed_) ::nvtxDomainRangePop(gDomain);
}

LoaderScope::LoaderScope(LoaderStage stage, std::uint32_t loader, int worker, std::uint64_t batch,
                         std::uint64_t bytes)
    : pushed_(nvtxOn()),
      loader_(loader),
      outerOrigin_(std::exchange(instrument::tState.origin,
                                 kStageOrigins[static_cast<std::size_t>(stage)])) {
  if (pushed_) [[unlikely]] {
    push(handleOf(kStages[static_cast<std::size_t>(stage)]), LACUNA_RT_CATEGORY_LOADER,
         LacunaRtLoader{batch, bytes, loader, worker});
    const bool prepares = stage != LoaderStage::Put && stage != LoaderStage::Wait;
    if (prepares && !tInLoaderStage) {
      tInLoaderStage = true;
      cpuFromNs_ = threadCpuNs();
    }
  }
}
LoaderScope::~LoaderScope() {
  instrument::tState.origin = outerOrigin_;
  if (!pushed_) return;
  if (cpuFromNs_ >= 0) {
    tInLoaderStage = false;
    if (loader_ < kCountedLoaders) {
      const std::int64_t cpuNs = threadCpuNs() - cpuFromNs_;
      const std::int64_t sum = gLoaderCpuNs[loader_].fetch_add(cpuNs) + cpuNs;
      ::nvtxCounterSampleInt64(gDomain, LACUNA_RT_COUNTER_LOADER_CPU_ID + loader_, sum);
    }
  }
  ::nvtxDomainRangePop(gDomain);
}

std::uint32_t registerLoader() {
  static std::atomic<std::uint32_t> next{0};
  const std::uint32_t loader = next.fetch_add(1);
  if (nvtxOn() && loader < kCountedLoaders) {
    registerCounter(LACUNA_RT_COUNTER_LOADER_DEPTH, LACUNA_RT_COUNTER_LOADER_DEPTH_ID + loader);
    registerCounter(LACUNA_RT_COUNTER_LOADER_CPU, LACUNA_RT_COUNTER_LOADER_CPU_ID + loader);
  }
  return loader;
}

void loaderQueueDepth(std::uint32_t loader, std::int64_t ready) {
  if (nvtxOn() && loader < kCountedLoaders)
    ::nvtxCounterSampleInt64(gDomain, LACUNA_RT_COUNTER_LOADER_DEPTH_ID + loader, ready);
}

void knob(std::string_view name, std::string_view value) {
  if (!nvtxOn()) return;
  instrument::noteReportedKnob(name);
  const LacunaRtKnob payload{fieldOf(*internName(name)), fieldOf(*internName(value))};
  mark(handleOf(LACUNA_RT_MSG_KNOB), LACUNA_RT_CATEGORY_INFO, payload);
}

void nameThread(const char* name) {
  ::pthread_setname_np(::pthread_self(), std::string(name).substr(0, 15).c_str());
  if (nvtxOn()) ::nvtxNameOsThreadA(instrument::threadId(), name);
}

void externalMemory(const void* address, std::size_t bytes, std::string_view owner,
                    bool allocated) {
  if (instrument::sinks() == 0) return;
  instrument::memoryEvent(
      allocated ? LACUNA_RT_MEMORY_EXTERNAL_ALLOCATE : LACUNA_RT_MEMORY_EXTERNAL_FREE,
      reinterpret_cast<std::uintptr_t>(address), bytes, Role::Workspace, internName(owner)->text,
      "", {});
}

bool observed() {
  return instrument::sinks() != 0;
}

}  // namespace lacuna::rt
