// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/instrument/tool.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace tool {
namespace {

struct State {
  std::mutex mutex;
  std::vector<Event> events;
  std::size_t forgotten = 0;
  std::vector<Schema> schemas;
  std::map<std::uint64_t, std::size_t> sizes;  ///< of schemas by id
  std::map<std::uint32_t, std::string> categories;
  std::vector<std::string> domains;
  std::deque<std::string> strings;  ///< handles point to them
  std::map<std::uint64_t, std::string> counters;
  std::vector<std::pair<std::string, std::int64_t>> sampled;
  std::uint64_t stamp = 0;
};

// The runtime attaches before main, and speaks until after it.
State& state() {
  static auto* state = new State;
  return *state;
}

std::string textOf(const void* handle) {
  return handle != nullptr ? *static_cast<const std::string*>(handle) : "";
}

void keep(Event event) {
  event.thread = std::this_thread::get_id();
  state().events.push_back(std::move(event));
}

template <class T>
std::int64_t read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<std::int64_t>(value);
}

std::int64_t numberAt(const std::byte* payload, const Field& field) {
  const std::byte* from = payload + field.offset;
  switch (field.type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
      return read<std::uint8_t>(from);
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
      return read<std::uint16_t>(from);
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
      return read<std::int32_t>(from);
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
      return read<std::uint32_t>(from);
    default:
      return read<std::int64_t>(from);
  }
}

void keepPayload(Event& event, const nvtxPayloadData_t& data) {
  for (const Schema& schema : state().schemas) {
    if (schema.id != data.schemaId) continue;
    event.payload = schema.name;
    for (const Field& field : schema.fields) {
      const std::int64_t value = numberAt(static_cast<const std::byte*>(data.payload), field);
      if (field.type != NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
        event.numbers[field.name] = value;
      } else {
        event.texts[field.name] = textOf(reinterpret_cast<const void*>(value));
      }
    }
  }
}

void keepDescribed(const char* form, const nvtxEventAttributes_t& attributes) {
  const std::lock_guard lock(state().mutex);
  Event event{.form = form};
  event.message = attributes.messageType == NVTX_MESSAGE_TYPE_REGISTERED
                      ? textOf(attributes.message.registered)
                      : "(not registered)";
  event.category = state().categories[attributes.category];
  if (attributes.payloadType == NVTX_PAYLOAD_TYPE_EXT) {
    const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(attributes.payload.ullValue);
    keepPayload(event, *data);
    event.fits = attributes.reserved0 == 1 && data->size == state().sizes[data->schemaId];
  }
  if (attributes.payloadType == NVTX_PAYLOAD_TYPE_DOUBLE) {
    event.payload = "double";
    event.value = attributes.payload.dValue;
  }
  keep(std::move(event));
}

nvtxDomainHandle_t NVTX_API createDomain(const char* name) {
  const std::lock_guard lock(state().mutex);
  state().domains.emplace_back(name);
  return reinterpret_cast<nvtxDomainHandle_t>(&state());
}
nvtxStringHandle_t NVTX_API registerString(nvtxDomainHandle_t, const char* text) {
  const std::lock_guard lock(state().mutex);
  return reinterpret_cast<nvtxStringHandle_t>(&state().strings.emplace_back(text));
}
void NVTX_API nameCategory(nvtxDomainHandle_t, std::uint32_t number, const char* name) {
  const std::lock_guard lock(state().mutex);
  state().categories[number] = name;
}
void NVTX_API mark(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  keepDescribed("mark", *attributes);
}
int NVTX_API push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  keepDescribed("push", *attributes);
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  const std::lock_guard lock(state().mutex);
  keep({.form = "pop"});
  return 0;
}

std::uint64_t NVTX_API registerSchema(nvtxDomainHandle_t,
                                      const nvtxPayloadSchemaAttr_t* attributes) {
  const std::lock_guard lock(state().mutex);
  Schema schema{attributes->name, attributes->schemaId, {}};
  for (std::size_t i = 0; i < attributes->numEntries; ++i)
    schema.fields.push_back(
        {attributes->entries[i].name, attributes->entries[i].type, attributes->entries[i].offset});
  state().schemas.push_back(schema);
  state().sizes[schema.id] = attributes->payloadStaticSize;
  return schema.id;
}
std::uint64_t NVTX_API registerCounter(nvtxDomainHandle_t, const nvtxCounterAttr_t* attributes) {
  const std::lock_guard lock(state().mutex);
  state().counters[attributes->counterId] = attributes->name;
  return attributes->counterId;
}
void NVTX_API sample(nvtxDomainHandle_t, std::uint64_t counter, std::int64_t value) {
  const std::lock_guard lock(state().mutex);
  state().sampled.emplace_back(state().counters[counter], value);
}

std::uint64_t stamp() {
  const std::lock_guard lock(state().mutex);
  return ++state().stamp;
}
void complete(nvtxDomainHandle_t, const LacunaRtComplete* report) {
  const std::lock_guard lock(state().mutex);
  keep({.form = "complete",
        .message = textOf(reinterpret_cast<const void*>(report->name)),
        .complete = *report});
}
void memory(nvtxDomainHandle_t, const LacunaRtMemory*) {
  const std::lock_guard lock(state().mutex);
  keep({.form = "mark",
        .message = LACUNA_RT_MSG_MEMORY,
        .category = "memory",
        .payload = LACUNA_RT_MEMORY_SCHEMA});
}

int NVTX_API attach(NvtxGetExportTableFunc_t exportTable) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(exportTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  const auto set = [&](unsigned slot, auto* function) {
    *table[slot] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, createDomain);
  set(NVTX_CBID_CORE2_DomainRegisterStringA, registerString);
  set(NVTX_CBID_CORE2_DomainNameCategoryA, nameCategory);
  set(NVTX_CBID_CORE2_DomainMarkEx, mark);
  set(NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

int NVTX_API attachExtension(nvtxExtModuleInfo_t* module) {
  std::intptr_t* slots = module->segments[0].functionSlots;
  const auto set = [&](unsigned slot, auto* function) {
    slots[slot] = reinterpret_cast<std::intptr_t>(function);
  };
  if (module->moduleId == NVTX_EXT_PAYLOAD_MODULEID) {
    set(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, registerSchema);
  } else if (module->moduleId == NVTX_EXT_COUNTERS_MODULEID) {
    set(NVTX3EXT_CBID_nvtxCounterRegister, registerCounter);
    set(NVTX3EXT_CBID_nvtxCounterSampleInt64, sample);
  } else if (module->moduleId == LACUNA_RT_MODULE_ID && kTakesCompleteOperators) {
    set(LACUNA_RT_SLOT_STAMP, stamp);
    set(LACUNA_RT_SLOT_COMPLETE, complete);
    set(LACUNA_RT_SLOT_MEMORY, memory);
  } else {
    return 0;
  }
  return 1;
}

template <class Value>
Value copyOf(const Value& value) {
  const std::lock_guard lock(state().mutex);
  return value;
}

}  // namespace

std::vector<Event> events() {
  const std::lock_guard lock(state().mutex);
  return state().events;
}
std::vector<Event> mine() {
  const std::lock_guard lock(state().mutex);
  std::vector<Event> some;
  for (std::size_t i = state().forgotten; i < state().events.size(); ++i) {
    if (state().events[i].thread == std::this_thread::get_id()) some.push_back(state().events[i]);
  }
  return some;
}
void forget() {
  const std::lock_guard lock(state().mutex);
  state().forgotten = state().events.size();
}
std::vector<Schema> schemas() {
  return copyOf(state().schemas);
}
std::map<std::uint32_t, std::string> categories() {
  return copyOf(state().categories);
}
std::vector<std::string> domains() {
  return copyOf(state().domains);
}
std::vector<std::string> registeredTexts() {
  const std::lock_guard lock(state().mutex);
  return {state().strings.begin(), state().strings.end()};
}
std::vector<std::pair<std::string, std::int64_t>> samples() {
  return copyOf(state().sampled);
}
std::vector<std::string> sampledCounters() {
  std::vector<std::string> names;
  for (const auto& [name, value] : samples()) names.push_back(name);
  return names;
}
std::vector<std::string> registeredCounters() {
  const std::lock_guard lock(state().mutex);
  std::vector<std::string> names;
  for (const auto& [id, name] : state().counters) names.push_back(name);
  return names;
}

}  // namespace tool

// NVTX looks for these where no library is named in the environment.
extern "C" {
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = tool::attach;
NvtxExtInitializeInjectionFunc_t InitializeInjectionNvtxExtension_fnptr = tool::attachExtension;
}
