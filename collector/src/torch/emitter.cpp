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

#include "torch/collective_calls.h"
#include "torch/schemas.h"

namespace lacuna::collector::torch {
namespace {

constexpr std::uint64_t kLoaderDepthId = 0x1000100;
constexpr std::uint32_t kCpuDevice = 1;
constexpr std::uint32_t kSchemaVersion = 1;

nvtxDomainHandle_t gDomain = nullptr;
std::atomic<bool> gQuiet{false};

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
  registerSchemas(gDomain);
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
  if (!text.starts_with(kNamespace)) return holdsCompiledCode(text) ? Is::Other : Is::Operator;
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

bool holdsCompiledCode(std::string_view name) {
  if (name.starts_with(kEvaluates)) name.remove_prefix(kEvaluates.size());
  return name.starts_with("Torch-Compiled Region") || name.starts_with("CompiledFunction") ||
         name.starts_with("TorchDynamo ") || name.starts_with("## Call CompiledFxGraph");
}

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

void remark(const char* name, const char* text) {
  if (!listening()) return;
  Event event(Category::Info, name);
  event.data = {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, std::strlen(text) + 1, text};
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<std::uintptr_t>(&event.data);
  nvtxDomainMarkEx(gDomain, &event);
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
