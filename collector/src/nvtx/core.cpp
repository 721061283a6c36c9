// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cinttypes>
#include <cstdio>
#include <string>

#include "core/guest.h"
#include "lacuna/prof/trace.h"
#include "nvtx/events.h"
#include "nvtx/install.h"
#include "nvtx/thread.h"

namespace lacuna::collector::nvtx {
namespace {

std::string textOf(const char* text) {
  return text != nullptr ? text : "";
}
std::string textOf(const wchar_t* text) {
  return narrow(text);
}

// Events.

nvtxRangeId_t NVTX_API domainStart(nvtxDomainHandle_t domain,
                                   const nvtxEventAttributes_t* attributes) {
  return attributes != nullptr ? startRange(Domain::of(domain), {.attributes = attributes}) : 0;
}
void NVTX_API domainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) {
  endRange(id);
}
void NVTX_API domainMark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  if (attributes != nullptr) mark(Domain::of(domain), {.attributes = attributes});
}

int NVTX_API push(const nvtxEventAttributes_t* attributes) {
  return domainPush(nullptr, attributes);
}
int NVTX_API pushA(const char* message) {
  return pushRange(Domain::standard(), {.message = message != nullptr ? message : ""});
}
int NVTX_API pushW(const wchar_t* message) {
  return pushRange(Domain::standard(), {.wideMessage = message != nullptr ? message : L""});
}
int NVTX_API pop() {
  return domainPop(nullptr);
}
nvtxRangeId_t NVTX_API start(const nvtxEventAttributes_t* attributes) {
  return domainStart(nullptr, attributes);
}
nvtxRangeId_t NVTX_API startA(const char* message) {
  return startRange(Domain::standard(), {.message = message != nullptr ? message : ""});
}
nvtxRangeId_t NVTX_API startW(const wchar_t* message) {
  return startRange(Domain::standard(), {.wideMessage = message != nullptr ? message : L""});
}
void NVTX_API end(nvtxRangeId_t id) {
  endRange(id);
}
void NVTX_API markEx(const nvtxEventAttributes_t* attributes) {
  domainMark(nullptr, attributes);
}
void NVTX_API markA(const char* message) {
  mark(Domain::standard(), {.message = message != nullptr ? message : ""});
}
void NVTX_API markW(const wchar_t* message) {
  mark(Domain::standard(), {.wideMessage = message != nullptr ? message : L""});
}

// Names.

template <class Char>
nvtxDomainHandle_t NVTX_API createDomain(const Char* name) {
  return Domain::named(textOf(name))->handle();
}
// Another module may still use the domain of the same name.
void NVTX_API destroyDomain(nvtxDomainHandle_t) {}

template <class Char>
nvtxStringHandle_t NVTX_API registerString(nvtxDomainHandle_t, const Char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new RegisteredText(textOf(text)));
}
template <class Char>
void NVTX_API nameDomainCategory(nvtxDomainHandle_t domain, std::uint32_t id, const Char* name) {
  Domain::of(domain).nameCategory(id, textOf(name));
}
template <class Char>
void NVTX_API nameCategory(std::uint32_t id, const Char* name) {
  Domain::standard().nameCategory(id, textOf(name));
}

void nameThread(std::uint32_t id, const std::string& name) {
  if (id == threadId()) return lacunaThreadName(prof::name(name));
  prof::Thread row;
  row.id = prof::ThreadId(id);
  row.osTid = id;
  row.name = prof::StringId(prof::name(name));
  prof::record(row);
}
template <class Char>
void NVTX_API nameOsThread(std::uint32_t id, const Char* name) {
  nameThread(id, textOf(name));
}

// Resources.

void recordEnvironment(const std::string& key, const std::string& value) {
  prof::Environment row;
  row.process = prof::ProcessId(1);
  row.key = prof::StringId(prof::name(key));
  row.value = prof::StringId(prof::name(value));
  prof::record(row);
}

std::string keyOf(const char* kind, std::uint64_t number) {
  char key[64];
  std::snprintf(key, sizeof key, "nvtx.%s.0x%" PRIx64, kind, number);
  return key;
}

nvtxResourceHandle_t NVTX_API createResource(nvtxDomainHandle_t domain,
                                             nvtxResourceAttributes_t* attributes) {
  if (attributes == nullptr) return nullptr;
  std::string name;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      name = textOf(attributes->message.ascii);
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      name = narrow(attributes->message.unicode);
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (attributes->message.registered != nullptr) {
        name = reinterpret_cast<const RegisteredText*>(attributes->message.registered)->words();
      }
      break;
    default:
      break;
  }
  if (static_cast<std::uint32_t>(attributes->identifierType) ==
      NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE) {
    nameThread(static_cast<std::uint32_t>(attributes->identifier.ullValue), name);
  } else if (guest::on()) {
    recordEnvironment(keyOf("resource", attributes->identifier.ullValue), name);
  }
  return reinterpret_cast<nvtxResourceHandle_t>(&Domain::of(domain));
}
void NVTX_API destroyResource(nvtxResourceHandle_t) {}

enum class CudaThing { Device, Context, Stream, Event };
const char* wordFor(CudaThing thing) {
  constexpr const char* kWords[] = {"device", "context", "stream", "event"};
  return kWords[static_cast<int>(thing)];
}
template <CudaThing Thing, class Handle, class Char>
void NVTX_API nameCuda(Handle handle, const Char* name) {
  recordEnvironment(keyOf(wordFor(Thing), (std::uint64_t)(handle)), textOf(name));
}

// Tables.

/// Fills slots of one module's table; a table of an older NVTX may be shorter.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &table_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void set(unsigned id, Function* function) {
    if (id < size_ && table_[id] != nullptr)
      *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned size_ = 0;
};

void fillCore(Table table) {
  table.set(NVTX_CBID_CORE_MarkEx, markEx);
  table.set(NVTX_CBID_CORE_MarkA, markA);
  table.set(NVTX_CBID_CORE_MarkW, markW);
  table.set(NVTX_CBID_CORE_RangeStartEx, start);
  table.set(NVTX_CBID_CORE_RangeStartA, startA);
  table.set(NVTX_CBID_CORE_RangeStartW, startW);
  table.set(NVTX_CBID_CORE_RangeEnd, end);
  table.set(NVTX_CBID_CORE_RangePushEx, push);
  table.set(NVTX_CBID_CORE_RangePushA, pushA);
  table.set(NVTX_CBID_CORE_RangePushW, pushW);
  table.set(NVTX_CBID_CORE_RangePop, pop);
  table.set(NVTX_CBID_CORE_NameCategoryA, nameCategory<char>);
  table.set(NVTX_CBID_CORE_NameCategoryW, nameCategory<wchar_t>);
  table.set(NVTX_CBID_CORE_NameOsThreadA, nameOsThread<char>);
  table.set(NVTX_CBID_CORE_NameOsThreadW, nameOsThread<wchar_t>);
}

void fillDomains(Table table) {
  table.set(NVTX_CBID_CORE2_DomainMarkEx, domainMark);
  table.set(NVTX_CBID_CORE2_DomainRangeStartEx, domainStart);
  table.set(NVTX_CBID_CORE2_DomainRangeEnd, domainEnd);
  table.set(NVTX_CBID_CORE2_DomainRangePushEx, domainPush);
  table.set(NVTX_CBID_CORE2_DomainRangePop, domainPop);
  table.set(NVTX_CBID_CORE2_DomainResourceCreate, createResource);
  table.set(NVTX_CBID_CORE2_DomainResourceDestroy, destroyResource);
  table.set(NVTX_CBID_CORE2_DomainNameCategoryA, nameDomainCategory<char>);
  table.set(NVTX_CBID_CORE2_DomainNameCategoryW, nameDomainCategory<wchar_t>);
  table.set(NVTX_CBID_CORE2_DomainRegisterStringA, registerString<char>);
  table.set(NVTX_CBID_CORE2_DomainRegisterStringW, registerString<wchar_t>);
  table.set(NVTX_CBID_CORE2_DomainCreateA, createDomain<char>);
  table.set(NVTX_CBID_CORE2_DomainCreateW, createDomain<wchar_t>);
  table.set(NVTX_CBID_CORE2_DomainDestroy, destroyDomain);
}

void fillCuda(Table driver, Table runtime) {
  driver.set(NVTX_CBID_CUDA_NameCuDeviceA, nameCuda<CudaThing::Device, int, char>);
  driver.set(NVTX_CBID_CUDA_NameCuDeviceW, nameCuda<CudaThing::Device, int, wchar_t>);
  driver.set(NVTX_CBID_CUDA_NameCuContextA, nameCuda<CudaThing::Context, void*, char>);
  driver.set(NVTX_CBID_CUDA_NameCuContextW, nameCuda<CudaThing::Context, void*, wchar_t>);
  driver.set(NVTX_CBID_CUDA_NameCuStreamA, nameCuda<CudaThing::Stream, void*, char>);
  driver.set(NVTX_CBID_CUDA_NameCuStreamW, nameCuda<CudaThing::Stream, void*, wchar_t>);
  driver.set(NVTX_CBID_CUDA_NameCuEventA, nameCuda<CudaThing::Event, void*, char>);
  driver.set(NVTX_CBID_CUDA_NameCuEventW, nameCuda<CudaThing::Event, void*, wchar_t>);
  runtime.set(NVTX_CBID_CUDART_NameCudaDeviceA, nameCuda<CudaThing::Device, int, char>);
  runtime.set(NVTX_CBID_CUDART_NameCudaDeviceW, nameCuda<CudaThing::Device, int, wchar_t>);
  runtime.set(NVTX_CBID_CUDART_NameCudaStreamA, nameCuda<CudaThing::Stream, void*, char>);
  runtime.set(NVTX_CBID_CUDART_NameCudaStreamW, nameCuda<CudaThing::Stream, void*, wchar_t>);
  runtime.set(NVTX_CBID_CUDART_NameCudaEventA, nameCuda<CudaThing::Event, void*, char>);
  runtime.set(NVTX_CBID_CUDART_NameCudaEventW, nameCuda<CudaThing::Event, void*, wchar_t>);
}

}  // namespace

bool installCore(NvtxGetExportTableFunc_t exportTable) {
  if (exportTable == nullptr) return false;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(exportTable(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks)) return false;
  fillCore(Table(*callbacks, NVTX_CB_MODULE_CORE));
  fillDomains(Table(*callbacks, NVTX_CB_MODULE_CORE2));
  fillCuda(Table(*callbacks, NVTX_CB_MODULE_CUDA), Table(*callbacks, NVTX_CB_MODULE_CUDART));
  return true;
}

}  // namespace lacuna::collector::nvtx
