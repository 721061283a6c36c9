// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/events.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/guest.h"
#include "lacuna/prof/announced.h"
#include "lacuna/prof/trace.h"
#include "nvtx/event_names.h"
#include "nvtx/schema.h"
#include "nvtx/thread.h"

namespace lacuna::collector::nvtx {
namespace {

/// Some ranges mean something to us: the capture range, or steps.
bool watching = false;
const std::string* captureName = nullptr;
void (*captureChanged)(bool) = nullptr;
const std::string* stepNames[2] = {};
bool numberedSteps = false;
void (*stepEnded)(std::int64_t durationNs) = nullptr;

/// An event with its name and everything else resolved to what the recorder takes.
struct Resolved {
  LacunaEvent event{};
  Payloads payloads;
};

LacunaName messageName(const nvtxEventAttributes_t& attributes) {
  switch (attributes.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes.message.ascii != nullptr ? lacunaName(attributes.message.ascii) : 0;
    case NVTX_MESSAGE_TYPE_UNICODE:
      return prof::name(narrow(attributes.message.unicode));
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* text = reinterpret_cast<const RegisteredText*>(attributes.message.registered);
      return text != nullptr ? text->text() : 0;
    }
    default:
      return 0;
  }
}

std::uint32_t payloadTypeOf(std::int32_t type) {
  switch (type) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      return LacunaPayloadU64;
    case NVTX_PAYLOAD_TYPE_INT64:
      return LacunaPayloadI64;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      return LacunaPayloadF64;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      return LacunaPayloadU32;
    case NVTX_PAYLOAD_TYPE_INT32:
      return LacunaPayloadI32;
    case NVTX_PAYLOAD_TYPE_FLOAT:
      return LacunaPayloadF32;
    default:
      return LacunaPayloadNone;
  }
}

bool hasPayload(const nvtxEventAttributes_t& attributes) {
  return attributes.payloadType != NVTX_PAYLOAD_UNKNOWN;
}

std::uint32_t colourOf(const nvtxEventAttributes_t& attributes) {
  return attributes.colorType == NVTX_COLOR_ARGB ? attributes.color : 0;
}

/// Names the loader, of several, whose stage it is, and the worker of that loader.
LacunaName loaderText(const prof::NvtxNote& note) {
  char text[48];
  if (note.worker < 0) {
    std::snprintf(text, sizeof text, "loader=%u", note.loader);
  } else {
    std::snprintf(text, sizeof text, "loader=%u worker=%d", note.loader, note.worker);
  }
  return lacunaName(text);
}

void applyPayloads(Domain& domain, const nvtxPayloadData_t* payloads, std::size_t count,
                   Resolved& out) {
  readPayloads(domain, payloads, count, out.payloads);
  auto& event = out.event;
  if (!out.payloads.message.empty()) event.name = prof::name(out.payloads.message);
  if (out.payloads.category != 0) event.category = domain.category(out.payloads.category);
  if (out.payloads.colour != 0) event.colour = out.payloads.colour;
  if (!out.payloads.text.empty()) event.text = prof::name(out.payloads.text);
  if (out.payloads.bytes != 0) {
    event.payloadType = LacunaPayloadU64;
    event.payload = out.payloads.bytes;
  }
  if (out.payloads.plan == nullptr) return;
  const auto note =
      prof::noteOf(*out.payloads.plan, {out.payloads.values, out.payloads.valueCount});
  event.correlation = note.correlation;
  event.payload = note.payload;
  event.payloadType = LacunaPayloadU64;
  if (note.text) event.text = note.text.value;
  if (note.ofLoader) event.text = loaderText(note);
}

void resolve(Domain& domain, const Described& from, Resolved& out) {
  out.event.domain = domain.name();
  if (from.message != nullptr) out.event.name = lacunaName(from.message);
  if (from.wideMessage != nullptr) out.event.name = prof::name(narrow(from.wideMessage));
  if (from.payloads != nullptr) applyPayloads(domain, from.payloads, from.payloadCount, out);
  if (from.attributes == nullptr) return;
  const auto& attributes = *from.attributes;
  out.event.name = messageName(attributes);
  out.event.category = domain.category(attributes.category);
  out.event.colour = colourOf(attributes);
  if (attributes.payloadType == NVTX_PAYLOAD_TYPE_EXT) {
    applyPayloads(domain, reinterpret_cast<const nvtxPayloadData_t*>(attributes.payload.ullValue),
                  static_cast<std::size_t>(attributes.reserved0), out);
  } else if ((out.event.payloadType = payloadTypeOf(attributes.payloadType)) != LacunaPayloadNone) {
    std::memcpy(&out.event.payload, &attributes.payload, sizeof out.event.payload);
    const bool narrowType = out.event.payloadType >= LacunaPayloadU32;
    if (narrowType) out.event.payload &= 0xffffffffu;
  }
}

/// Name, category and colour of an event as one name.
LacunaName siteOf(Domain& domain, const nvtxEventAttributes_t& attributes) {
  const std::uint32_t colour = colourOf(attributes);
  const bool plain = attributes.category == 0 && colour == 0;
  if (__builtin_expect(attributes.messageType == NVTX_MESSAGE_TYPE_REGISTERED, 1)) {
    auto* text = reinterpret_cast<RegisteredText*>(
        const_cast<nvtxStringRegistration*>(attributes.message.registered));
    if (text != nullptr)
      return plain ? text->text() : text->site(domain, attributes.category, colour);
  }
  const LacunaName name = messageName(attributes);
  return plain ? name
               : lacunaSite(name, domain.name(), domain.category(attributes.category), colour);
}

/// The schema of a payload of the tensor runtime's, when the event has that and a registered name.
const Schema* plannedOf(const Domain& domain, const Described& event,
                        const nvtxPayloadData_t*& payload) {
  payload = event.payloads;
  std::size_t count = event.payloadCount;
  if (event.attributes != nullptr) {
    if (event.attributes->payloadType != NVTX_PAYLOAD_TYPE_EXT) return nullptr;
    payload = reinterpret_cast<const nvtxPayloadData_t*>(event.attributes->payload.ullValue);
    count = static_cast<std::size_t>(event.attributes->reserved0);
  }
  return plannedSchema(domain, payload, count);
}

LacunaName siteOf(Domain& domain, const Described& event) {
  if (event.attributes != nullptr) return siteOf(domain, *event.attributes);
  return event.message != nullptr ? lacunaName(event.message) : 0;
}

/// Records a range that describes what an operator, a queue or a wait does. False when it describes
/// none of these.
bool pushSchemaEvent(Domain& domain, const Described& event) {
  const nvtxPayloadData_t* payload = nullptr;
  const Schema* schema = plannedOf(domain, event, payload);
  if (schema == nullptr) return false;
  using Plan = prof::NvtxPlan;
  const PlannedFields fields(*schema, payload->payload);
  switch (schema->plan.kind()) {
    case Plan::Kind::Execution: {
      const auto announced = prof::executionFrom(fields);
      prof::lacunaPushExecution_(domain.name(), siteOf(domain, event), 0, &announced);
      return true;
    }
    case Plan::Kind::Sync: {
      const auto announced = prof::waitFrom(fields);
      prof::lacunaPushWait_(domain.name(), siteOf(domain, event), 0, &announced);
      return true;
    }
    case Plan::Kind::Operator: {
      LacunaEvent announced{};
      announced.domain = domain.name();
      announced.name = siteOf(domain, event);
      announced.payloadType = LacunaPayloadU64;
      announced.payload = fields[Plan::kOpSequence];
      announced.correlation = fields[Plan::kOpCorrelation];
      announced.text = static_cast<LacunaName>(fields[Plan::kOpShapes]);
      lacunaRangePushEvent(&announced);
      return true;
    }
    default:
      return false;
  }
}

bool markSchemaEvent(const Domain& domain, const Described& event) {
  const nvtxPayloadData_t* payload = nullptr;
  const Schema* schema = plannedOf(domain, event, payload);
  if (schema == nullptr || schema->plan.kind() != prof::NvtxPlan::Kind::Memory) return false;
  prof::recordMemory(prof::memoryFrom(PlannedFields(*schema, payload->payload)));
  return true;
}

/// A mark that describes what others refer to by number, before or after recording was switched on.
bool marksDescription(const Domain& domain, const Described& event) {
  using Kind = prof::NvtxPlan::Kind;
  const nvtxPayloadData_t* payload = nullptr;
  const Schema* schema = plannedOf(domain, event, payload);
  return schema != nullptr &&
         (schema->plan.kind() == Kind::Queue || schema->plan.kind() == Kind::Knob);
}

__attribute__((noinline)) void pushResolved(Domain& domain, const Described& event) {
  Resolved resolved;
  resolve(domain, event, resolved);
  lacunaRangePushEvent(&resolved.event);
}

void recordMark(const Resolved& resolved) {
  if (const auto* plan = resolved.payloads.plan; plan != nullptr) {
    prof::NvtxEvent row;
    row.thread = prof::ThreadId(threadId());
    row.startNs = nowNs();
    row.name = prof::StringId(resolved.event.name);
    row.values = {resolved.payloads.values, resolved.payloads.valueCount};
    recordRows(*plan, row, &resolved.payloads);
    if (prof::nvtxMarkIsRedundant(*plan)) return;
  }
  lacunaMarkEvent(&resolved.event);
}

/// Null where this process joins one recording alone. Never freed: threads may go on while the
/// process ends.
std::vector<Resolved>* descriptions = nullptr;
constexpr std::size_t kMostDescriptions = 1024;

/// A setting has one value: a later one takes the place of an earlier one.
bool describeTheSame(const Payloads& one, const Payloads& other) {
  if (one.plan != other.plan) return false;
  const int name = one.plan->position(0);
  if (one.plan->kind() == prof::NvtxPlan::Kind::Knob && name >= 0)
    return one.values[name] == other.values[name];
  return std::equal(one.values, one.values + one.valueCount, other.values,
                    other.values + other.valueCount);
}

void keepDescription(Resolved&& resolved) {
  const RegistryLock lock;
  if (descriptions == nullptr || resolved.payloads.plan == nullptr) return;
  std::erase_if(*descriptions, [&](const Resolved& kept) {
    return describeTheSame(kept.payloads, resolved.payloads);
  });
  if (descriptions->size() < kMostDescriptions) descriptions->push_back(std::move(resolved));
}

bool isCapture(const Described& event) {
  return isCalled(event, *captureName);
}

bool isStep(const Described& event) {
  if (numberedSteps && isNumberedStep(event)) return true;
  return isCalled(event, *stepNames[0]) || isCalled(event, *stepNames[1]);
}

/// Where on this thread a range is open: (level + 1) << 8 | slot, or 0.
using Place = std::uint32_t;
thread_local Place captureAt __attribute__((tls_model("initial-exec"))) = 0;
thread_local Place stepAt __attribute__((tls_model("initial-exec"))) = 0;
thread_local std::int64_t stepStartNs __attribute__((tls_model("initial-exec"))) = 0;

/// Closes the capture range of a thread that ends inside it.
struct CaptureEnd {
  ~CaptureEnd() {
    if (captureAt == 0) return;
    captureAt = 0;
    captureChanged(false);
  }
};

void closeWhenThreadEnds() {
  // The first thread ends as its process does, which may have more to do after that.
  if (threadId() == static_cast<std::uint32_t>(getpid())) return;
  thread_local const CaptureEnd atEnd __attribute__((tls_model("initial-exec")));
}

__attribute__((noinline)) void watchPush(Place place, const Described& event) {
  if (captureName != nullptr && captureAt == 0 && isCapture(event)) {
    captureAt = place;
    closeWhenThreadEnds();
    captureChanged(true);
  }
  if (stepEnded != nullptr && stepAt == 0 && isStep(event)) {
    stepAt = place;
    stepStartNs = nowNs();
  }
}

__attribute__((noinline)) void watchPop(Place place) {
  if (stepAt == place) {
    stepAt = 0;
    stepEnded(nowNs() - stepStartNs);
  }
  if (captureAt == place) {
    captureAt = 0;
    captureChanged(false);
  }
}

/// True for the form of most ranges: a registered name, and nothing besides.
inline bool isOnlyName(const nvtxEventAttributes_t& event) {
  static_assert(NVTX_PAYLOAD_UNKNOWN == 0 && NVTX_COLOR_UNKNOWN == 0);
  const auto besides = static_cast<std::uint32_t>(event.payloadType) | event.category |
                       static_cast<std::uint32_t>(event.colorType);
  return besides == 0 && event.messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
         event.message.registered != nullptr;
}

/// Open while ranges are recorded and none of them means anything to us.
inline const std::uint64_t* quickGate() {
  return __builtin_expect(!watching && guest::on(), 1) ? lacunaOpenGate_() : nullptr;
}

__attribute__((noinline, cold)) int putSlow(std::uint64_t word, unsigned level) {
  lacunaPutSlow_(word);
  return static_cast<int>(level);
}

/// Records, and returns `level`: a last call, so that its callers need no stack.
inline int put(const std::uint64_t* gate, std::uint64_t word, unsigned level) {
  return __builtin_expect(lacunaTryPut_(gate, word), 1) ? static_cast<int>(level)
                                                        : putSlow(word, level);
}

__attribute__((noinline)) int pushSlow(nvtxDomainHandle_t handle,
                                       const nvtxEventAttributes_t* attributes) {
  return attributes != nullptr ? pushRange(Domain::of(handle), {.attributes = attributes})
                               : NVTX_NO_PUSH_POP_TRACKING;
}

/// The number of a range that bounds the capture also shows that, and whose it is.
constexpr nvtxRangeId_t kCaptureBit = std::uint64_t{1} << 63;
constexpr unsigned kPidShift = 40;
nvtxRangeId_t ownPid() {
  return static_cast<nvtxRangeId_t>(getpid()) & 0x3fffff;  // the kernel's numbers have no more bits
}

__attribute__((noinline)) int popSlow(nvtxDomainHandle_t handle) {
  const Domain& domain = Domain::of(handle);
  const unsigned slot = domain.levelSlot();
  Nesting& nesting = threadLevels.in[slot];
  if (nesting.level == 0) return NVTX_NO_PUSH_POP_TRACKING;
  const unsigned level = --nesting.level;
  if (level >= nesting.recordedFrom || (endUnrecorded(slot, level) && guest::on()))
    lacunaDomainRangePop(domain.name());
  if (watching) watchPop((level + 1) << 8 | slot);
  return static_cast<int>(level);
}

}  // namespace

// The words are never freed: threads may go on while the process ends.
void captureOnly(const char* name, void (*onCapture)(bool open)) {
  static const auto* const words = new std::string(name);
  captureChanged = onCapture;
  captureName = words;
  watching = true;
}

void watchSteps(const char* name, void (*onStep)(std::int64_t durationNs)) {
  static const auto* const first = new std::string(name != nullptr ? name : "step");
  static const auto* const second = new std::string(name != nullptr ? name : "train_step");
  numberedSteps = name == nullptr;
  stepNames[0] = first;
  stepNames[1] = second;
  stepEnded = onStep;
  watching = true;
}

void forgetParentsRanges() {
  forgetOpenRanges();
  captureAt = 0;
  stepAt = 0;
}

bool watchesRanges() {
  return watching;
}

int domainPush(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* attributes) {
  if (__builtin_expect(attributes == nullptr || !isOnlyName(*attributes), 0))
    return pushSlow(handle, attributes);
  const std::uint64_t* gate = quickGate();
  if (__builtin_expect(gate == nullptr, 0)) return pushSlow(handle, attributes);
  const Domain* domain = Domain::known(handle);
  if (__builtin_expect(domain == nullptr, 0)) return pushSlow(handle, attributes);
  const auto* text = reinterpret_cast<const RegisteredText*>(attributes->message.registered);
  const unsigned level = threadLevels.in[domain->levelSlot()].level++;
  return put(gate, domain->pushWord(text->text()), level);
}

int pushRange(Domain& domain, const Described& event) {
  const unsigned slot = domain.levelSlot();
  const unsigned level = threadLevels.in[slot].level++;
  if (__builtin_expect(watching, 0)) watchPush((level + 1) << 8 | slot, event);
  if (!guest::on()) {
    beginUnrecorded(slot, level);
    return static_cast<int>(level);
  }
  if (__builtin_expect(event.attributes != nullptr && !hasPayload(*event.attributes), 1)) {
    lacunaDomainRangePush(domain.name(), siteOf(domain, *event.attributes));
  } else if (event.message != nullptr) {
    lacunaDomainRangePush(domain.name(), lacunaName(event.message));
  } else if (!pushSchemaEvent(domain, event)) {
    pushResolved(domain, event);
  }
  return static_cast<int>(level);
}

int domainPop(nvtxDomainHandle_t handle) {
  const std::uint64_t* gate = quickGate();
  if (__builtin_expect(gate == nullptr, 0)) return popSlow(handle);
  const Domain* domain = Domain::known(handle);
  if (__builtin_expect(domain == nullptr, 0)) return popSlow(handle);
  Nesting& nesting = threadLevels.in[domain->levelSlot()];
  // Without an open range both are 0.
  if (__builtin_expect(nesting.level <= nesting.recordedFrom, 0)) return popSlow(handle);
  return put(gate, domain->popWord(), --nesting.level);
}

nvtxRangeId_t startRange(Domain& domain, const Described& event) {
  const bool capture = __builtin_expect(captureName != nullptr, 0) && isCapture(event);
  if (capture) captureChanged(true);
  nvtxRangeId_t id = 0;
  if (guest::on()) {
    Resolved resolved;
    resolve(domain, event, resolved);
    id = lacunaRangeStart(&resolved.event);
  }
  return capture ? kCaptureBit | ownPid() << kPidShift | id : id;
}

void endRange(nvtxRangeId_t id) {
  const bool capture = captureName != nullptr && (id & kCaptureBit) != 0;
  const std::uint64_t range = capture ? id & ((std::uint64_t{1} << kPidShift) - 1) : id;
  // It has a number if its beginning was recorded.
  if (range != 0) lacunaRangeEnd(range);
  // A forked child may end what its parent began.
  if (capture && (id & ~kCaptureBit) >> kPidShift == ownPid()) captureChanged(false);
}

void mark(Domain& domain, const Described& event) {
  const bool describes =
      (descriptions != nullptr || !guest::on()) && marksDescription(domain, event);
  if (!guest::on() && !describes) return;
  if (markSchemaEvent(domain, event)) return;
  Resolved resolved;
  resolve(domain, event, resolved);
  recordMark(resolved);
  if (describes) keepDescription(std::move(resolved));
}

void keepDescriptions() {
  if (descriptions == nullptr) descriptions = new std::vector<Resolved>;
}

void repeatDescriptions() {
  std::vector<Resolved> all;
  {
    const RegistryLock lock;
    all = *descriptions;
  }
  for (const Resolved& kept : all) recordMark(kept);
}

}  // namespace lacuna::collector::nvtx
