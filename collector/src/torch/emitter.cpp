// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/emitter.h"

#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

#include "core/runtime_payloads.h"
#include "torch/collective_calls.h"

namespace lacuna::collector::torch {
namespace {

// The other payloads of the schema that PyTorch can fill; the mapper takes fields by name.
struct StepPayload {
  std::uint64_t index, samples;
};
struct LoaderPayload {
  std::uint64_t batch, bytes;
  std::uint32_t loader;
  std::int32_t worker;
};
struct HelloPayload {
  std::uint32_t version, pid;
};
struct QueuePayload {
  StringHandle name;
  std::uint64_t memoryBytes;
  std::uint32_t queue, device, deviceKind, thread, cores, reserved;
};
struct KnobPayload {
  StringHandle name, value;
};

template <class Payload>
constexpr std::uint64_t kSchemaId = 0;
template <>
constexpr std::uint64_t kSchemaId<OperatorPayload> = 0x1000001;
template <>
constexpr std::uint64_t kSchemaId<ExecutionPayload> = 0x1000002;
template <>
constexpr std::uint64_t kSchemaId<MemoryPayload> = 0x1000003;
template <>
constexpr std::uint64_t kSchemaId<StepPayload> = 0x1000004;
template <>
constexpr std::uint64_t kSchemaId<LoaderPayload> = 0x1000005;
template <>
constexpr std::uint64_t kSchemaId<HelloPayload> = 0x1000007;
template <>
constexpr std::uint64_t kSchemaId<QueuePayload> = 0x1000008;
template <>
constexpr std::uint64_t kSchemaId<KnobPayload> = 0x1000009;

constexpr std::uint64_t kLoaderDepthId = 0x1000100;
constexpr std::uint32_t kCpuDevice = 1;
constexpr std::uint32_t kSchemaVersion = 1;

nvtxDomainHandle_t gDomain = nullptr;
std::atomic<bool> gQuiet{false};

struct Field {
  const char* name;
  std::uint64_t type;
  std::size_t offset;
};

template <class Payload, std::size_t Count>
void registerSchema(const char* name, const Field (&fields)[Count]) {
  nvtxPayloadSchemaEntry_t entries[Count] = {};
  for (std::size_t i = 0; i < Count; ++i) {
    entries[i].type = fields[i].type;
    entries[i].name = fields[i].name;
    entries[i].offset = fields[i].offset;
  }
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  attributes.name = name;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries;
  attributes.numEntries = Count;
  attributes.payloadStaticSize = sizeof(Payload);
  attributes.schemaId = kSchemaId<Payload>;
  nvtxPayloadSchemaRegister(gDomain, &attributes);
}

#define LACUNA_FIELD(Payload, field, TYPE) \
  { #field, NVTX_PAYLOAD_ENTRY_TYPE_##TYPE, offsetof(Payload, field) }

void registerEventSchemas() {
  registerSchema<OperatorPayload>(
      "lacuna.rt.operator", {LACUNA_FIELD(OperatorPayload, correlation, UINT64),
                             LACUNA_FIELD(OperatorPayload, sequence, UINT64),
                             LACUNA_FIELD(OperatorPayload, shapes, NVTX_REGISTERED_STRING_HANDLE),
                             LACUNA_FIELD(OperatorPayload, module, NVTX_REGISTERED_STRING_HANDLE),
                             LACUNA_FIELD(OperatorPayload, queue, UINT32),
                             LACUNA_FIELD(OperatorPayload, direction, UINT32)});
  registerSchema<ExecutionPayload>(
      "lacuna.rt.execution",
      {LACUNA_FIELD(ExecutionPayload, correlation, UINT64),
       LACUNA_FIELD(ExecutionPayload, sequence, UINT64),
       LACUNA_FIELD(ExecutionPayload, enqueueStartNs, INT64),
       LACUNA_FIELD(ExecutionPayload, enqueueEndNs, INT64),
       LACUNA_FIELD(ExecutionPayload, enqueueThread, TID_UINT32),
       LACUNA_FIELD(ExecutionPayload, queue, UINT32), LACUNA_FIELD(ExecutionPayload, kind, UINT32),
       LACUNA_FIELD(ExecutionPayload, reserved, UINT32),
       LACUNA_FIELD(ExecutionPayload, bytes, UINT64),
       LACUNA_FIELD(ExecutionPayload, flops, UINT64)});
  registerSchema<MemoryPayload>(
      "lacuna.rt.memory",
      {LACUNA_FIELD(MemoryPayload, address, ADDRESS), LACUNA_FIELD(MemoryPayload, bytes, UINT64),
       LACUNA_FIELD(MemoryPayload, sequence, UINT64),
       LACUNA_FIELD(MemoryPayload, op, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(MemoryPayload, tensor, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(MemoryPayload, queue, UINT32), LACUNA_FIELD(MemoryPayload, action, UINT8),
       LACUNA_FIELD(MemoryPayload, role, UINT8), LACUNA_FIELD(MemoryPayload, reserved, UINT16)});
  registerSchema<StepPayload>("lacuna.rt.step", {LACUNA_FIELD(StepPayload, index, UINT64),
                                                 LACUNA_FIELD(StepPayload, samples, UINT64)});
  registerSchema<LoaderPayload>(
      "lacuna.rt.loader",
      {LACUNA_FIELD(LoaderPayload, batch, UINT64), LACUNA_FIELD(LoaderPayload, bytes, UINT64),
       LACUNA_FIELD(LoaderPayload, loader, UINT32), LACUNA_FIELD(LoaderPayload, worker, INT32)});
}

void registerInfoSchemas() {
  registerSchema<HelloPayload>("lacuna.rt.hello", {LACUNA_FIELD(HelloPayload, version, UINT32),
                                                   LACUNA_FIELD(HelloPayload, pid, PID_UINT32)});
  registerSchema<QueuePayload>(
      "lacuna.rt.queue",
      {LACUNA_FIELD(QueuePayload, name, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(QueuePayload, memoryBytes, UINT64), LACUNA_FIELD(QueuePayload, queue, UINT32),
       LACUNA_FIELD(QueuePayload, device, UINT32), LACUNA_FIELD(QueuePayload, deviceKind, UINT32),
       LACUNA_FIELD(QueuePayload, thread, TID_UINT32), LACUNA_FIELD(QueuePayload, cores, UINT32),
       LACUNA_FIELD(QueuePayload, reserved, UINT32)});
  registerSchema<KnobPayload>("lacuna.rt.knob",
                              {LACUNA_FIELD(KnobPayload, name, NVTX_REGISTERED_STRING_HANDLE),
                               LACUNA_FIELD(KnobPayload, value, NVTX_REGISTERED_STRING_HANDLE)});
}

/// Texts that were sent before, with their handles. Names of operators come from PyTorch as text
/// and are few. Names beyond the room (a program may make them up as it goes) are sent as plain
/// text.
class Names {
 public:
  nvtxStringHandle_t handle(std::string_view text) {
    const std::uint64_t hash = hashOf(text);
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      auto& slot = slots_[(hash + probe) % kSlots];
      const Entry* entry = slot.load(std::memory_order_acquire);
      if (entry == nullptr) entry = add(slot, text, hash);
      if (entry == nullptr) return nullptr;
      if (entry->hash == hash && text == std::string_view(entry->text, entry->length))
        return entry->handle;
    }
    return nullptr;
  }

 private:
  struct Entry {
    std::uint64_t hash;
    nvtxStringHandle_t handle;
    std::size_t length;
    const char* text;
  };
  static constexpr std::size_t kSlots = 8192;
  static constexpr std::size_t kProbes = 16;

  static std::uint64_t hashOf(std::string_view text) {
    std::uint64_t hash = 0x9E3779B97F4A7C15U ^ text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      hash = (hash ^ word) * 0xD6E8FEB86659FD93U;
      hash ^= hash >> 32;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93U;
    return hash ^ hash >> 29;
  }
  static const Entry* add(std::atomic<Entry*>& slot, std::string_view text, std::uint64_t hash) {
    auto* fresh =
        static_cast<Entry*>(::operator new(sizeof(Entry) + text.size() + 1, std::nothrow));
    if (fresh == nullptr) return nullptr;
    char* copy = reinterpret_cast<char*>(fresh + 1);
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = 0;
    *fresh = {hash, nvtxDomainRegisterStringA(gDomain, copy), text.size(), copy};
    Entry* seen = nullptr;
    if (slot.compare_exchange_strong(seen, fresh, std::memory_order_acq_rel)) return fresh;
    ::operator delete(fresh);
    return seen;
  }

  std::atomic<Entry*> slots_[kSlots] = {};
};
Names gNames;
Names gShapes;  // apart: a program with changing shapes makes up many

/// The ranges that are open on a thread, innermost last.
enum class Is : std::uint8_t {
  Other,
  Operator,
  Room
};  ///< Room: an operator that makes a tensor for another one
struct Level {
  const void* owner;
  nvtxStringHandle_t name;
  Is is;
};
constexpr int kMostLevels = 512;
struct Stack {
  int depth = 0;
  unsigned operators = 0;
  bool rehearses = false;  ///< does all but hand events to whoever listens
  Level levels[kMostLevels];
};
thread_local Stack* tStack = nullptr;
pthread_key_t gStackKey;

Stack* stack() {
  if (tStack == nullptr) {
    tStack = new (std::nothrow) Stack;
    if (tStack != nullptr) pthread_setspecific(gStackKey, tStack);
  }
  return tStack;
}

std::uint64_t text(const char* words) {
  if (words == nullptr || *words == 0) return 0;
  return reinterpret_cast<std::uintptr_t>(gNames.handle(words));
}

struct Event : nvtxEventAttributes_t {
  Event(Category category, const char* name) : nvtxEventAttributes_t{} {
    version = NVTX_VERSION;
    size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    this->category = static_cast<std::uint32_t>(category);
    if (const auto handle = gNames.handle(name); handle != nullptr) {
      messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      message.registered = handle;
    } else {
      messageType = NVTX_MESSAGE_TYPE_ASCII;
      message.ascii = name;
    }
  }
  template <class Payload>
  Event(Category category, const char* name, const Payload& payload) : Event(category, name) {
    data = {kSchemaId<Payload>, sizeof(Payload), &payload};
    payloadType = NVTX_PAYLOAD_TYPE_EXT;
    reserved0 = 1;
    this->payload.ullValue = reinterpret_cast<std::uintptr_t>(&data);
  }
  nvtxPayloadData_t data{};
};

int push(const Event& event, const void* owner, Is is = Is::Other) {
  Stack* open = stack();
  if (open == nullptr || open->depth == kMostLevels) return -1;
  const auto name =
      event.messageType == NVTX_MESSAGE_TYPE_REGISTERED ? event.message.registered : nullptr;
  open->levels[open->depth] = {owner, const_cast<nvtxStringHandle_t>(name), is};
  open->operators += is != Is::Other ? 1 : 0;
  if (!open->rehearses) nvtxDomainRangePushEx(gDomain, &event);
  return open->depth++;
}

template <class Payload>
void emitMark(Category category, const char* name, const Payload& payload) {
  const Event event(category, name, payload);
  nvtxDomainMarkEx(gDomain, &event);
}

bool start() {
  gDomain = nvtxDomainCreateA("lacuna.rt");
  if (gDomain == nullptr) return false;
  // The thread's work after this, in destructors of others, begins with a stack of its own.
  const auto end = [](void* stack) {
    tStack = nullptr;
    delete static_cast<Stack*>(stack);
  };
  if (pthread_key_create(&gStackKey, end) != 0) return false;
  constexpr const char* kCategories[] = {"step",      "phase",  "operator", "module", "loader",
                                         "execution", "memory", "sync",     "info"};
  for (std::uint32_t i = 0; i < std::size(kCategories); ++i)
    nvtxDomainNameCategoryA(gDomain, i + 1, kCategories[i]);
  registerEventSchemas();
  registerInfoSchemas();
  emitMark(Category::Info, "hello",
           HelloPayload{kSchemaVersion, static_cast<std::uint32_t>(getpid())});
  return true;
}

std::uint32_t threadNumber() {
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

std::int64_t monotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

CollectiveCalls gCollectiveCalls;

/// A queue of the CPU besides that of operators, which is 0; the schema defines how queues of one
/// device are numbered.
std::uint32_t announceCollectiveQueue() {
  static std::atomic<std::uint32_t> queues{0};
  QueuePayload payload{};
  payload.name = text("cpu:0 collectives");
  payload.queue = 256 * (queues.fetch_add(1, std::memory_order_relaxed) + 1);
  payload.deviceKind = kCpuDevice;
  payload.thread = threadNumber();
  emitMark(Category::Info, "queue", payload);
  return payload.queue;
}

Is kindOf(const char* name) {
  constexpr std::string_view kNamespace = "aten::";
  std::string_view text(name);
  if (!text.starts_with(kNamespace)) return Is::Operator;
  text.remove_prefix(kNamespace.size());
  return text.starts_with("empty") || text.starts_with("new_empty") || text == "resize_"
             ? Is::Room
             : Is::Operator;
}

/// The operator that asks for memory: the caller of aten::empty matters more than that call.
nvtxStringHandle_t innermostOperator() {
  nvtxStringHandle_t room = nullptr;
  for (int i = tStack != nullptr ? tStack->depth : 0; i > 0; --i) {
    const Level& level = tStack->levels[i - 1];
    if (level.is == Is::Operator) return level.name;
    if (level.is == Is::Room) room = level.name;
  }
  return room;
}

}  // namespace

bool listening() {
  static const bool on = start();
  return on && !gQuiet.load(std::memory_order_relaxed);
}

void beQuiet(bool on) {
  gQuiet.store(on, std::memory_order_relaxed);
}

int open(Category category, const char* name, const void* owner) {
  return listening() ? push(Event(category, name), owner) : -1;
}

int openOperator(const char* name, const OperatorNote& note, const void* owner) {
  if (!listening()) return -1;
  const auto shapes =
      note.shapes != nullptr ? reinterpret_cast<std::uintptr_t>(gShapes.handle(note.shapes)) : 0;
  if (note.sequence == 0 && note.correlation == 0 && shapes == 0) {
    return push(Event(Category::Operator, name), owner, kindOf(name));
  }
  const OperatorPayload payload{
      note.correlation, note.sequence, shapes, 0, 0, static_cast<std::uint32_t>(note.direction)};
  return push(Event(Category::Operator, name, payload), owner, kindOf(name));
}

int openStep(std::uint64_t index, std::uint64_t samples, bool plain) {
  if (!listening()) return -1;
  return push(Event(Category::Step, plain ? "plain step" : "step", StepPayload{index, samples}),
              nullptr);
}

int openLoader(const char* stage, const LoaderNote& note) {
  if (!listening()) return -1;
  return push(
      Event(Category::Loader, stage, LoaderPayload{note.batch, 0, note.loader, note.worker}),
      nullptr);
}

int openExecution(const char* name, std::uint64_t correlation, const void* owner) {
  if (!listening()) return -1;
  static std::atomic<std::uint64_t> sequence{0};
  ExecutionPayload payload{};
  payload.correlation = correlation;
  payload.sequence = sequence.fetch_add(1, std::memory_order_relaxed) + 1;
  return push(Event(Category::Execution, name, payload), owner);
}

void noteCollectiveCall(const char* name, std::uint64_t correlation) {
  gCollectiveCalls.put(prof::kindOfCollective(name), {correlation, monotonicNs(), threadNumber()});
}

int openCollective(const char* name, const void* owner) {
  if (!listening()) return -1;
  const std::optional<CollectiveCall> call = gCollectiveCalls.take(prof::kindOfCollective(name));
  if (!call) return push(Event(Category::None, name), owner);
  static thread_local const std::uint32_t queue = announceCollectiveQueue();
  ExecutionPayload payload{};
  payload.correlation = call->correlation;
  payload.enqueueStartNs = payload.enqueueEndNs = call->startNs;
  payload.enqueueThread = call->thread;
  payload.queue = queue;
  return push(Event(Category::Execution, name, payload), owner);
}

void closeTo(int level) {
  Stack* open = tStack;
  if (open == nullptr || level < 0) return;
  while (open->depth > level) {
    open->operators -= open->levels[--open->depth].is != Is::Other ? 1 : 0;
    if (!open->rehearses) nvtxDomainRangePop(gDomain);
  }
}

void closeOwner(const void* owner) {
  const Stack* open = tStack;
  if (open == nullptr) return;
  int level = open->depth;
  while (level > 0 && open->levels[level - 1].owner != owner) --level;
  if (level == 0) return;
  while (level > 0 && open->levels[level - 1].owner == owner) --level;
  closeTo(level);
}

void rehearse(bool on) {
  if (Stack* open = listening() ? stack() : nullptr; open != nullptr) open->rehearses = on;
}

unsigned operatorsOpen() {
  return tStack != nullptr ? tStack->operators : 0;
}

void knob(const char* name, const char* value) {
  if (listening()) emitMark(Category::Info, "knob", KnobPayload{text(name), text(value)});
}

void loaderDepth(std::uint32_t loader, std::int64_t ready) {
  if (!listening() || loader >= 256) return;
  static std::atomic<bool> registered[256];
  if (!registered[loader].exchange(true)) {
    nvtxCounterAttr_t attributes{};
    attributes.structSize = sizeof(attributes);
    attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
    attributes.name = "loader.queue_depth";
    attributes.scopeId = NVTX_SCOPE_CURRENT_VM;
    attributes.counterId = kLoaderDepthId + loader;
    nvtxCounterRegister(gDomain, &attributes);
  }
  nvtxCounterSampleInt64(gDomain, kLoaderDepthId + loader, ready);
}

void nameThread(const char* name) {
  if (listening()) nvtxNameOsThreadA(threadNumber(), name);
}

void announceCpuQueue() {
  if (!listening()) return;
  const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  QueuePayload payload{};
  payload.name = text("cpu:0 operators");
  payload.memoryBytes = bytes;
  payload.deviceKind = kCpuDevice;
  payload.thread = static_cast<std::uint32_t>(getpid());
  payload.cores = std::thread::hardware_concurrency();
  emitMark(Category::Info, "queue", payload);
}

void memory(MemoryAction action, std::uint64_t address, std::uint64_t bytes, std::uint8_t role,
            std::uint32_t device, const char* tensor) {
  if (!listening()) return;
  MemoryPayload payload{};
  payload.address = address;
  payload.bytes = bytes;
  payload.op = reinterpret_cast<std::uintptr_t>(innermostOperator());
  payload.tensor = text(tensor);
  payload.queue = device;
  payload.action = static_cast<std::uint8_t>(action);
  payload.role = role;
  if (tStack == nullptr || !tStack->rehearses) emitMark(Category::Memory, "memory", payload);
}

}  // namespace lacuna::collector::torch
