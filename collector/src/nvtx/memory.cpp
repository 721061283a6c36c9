// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtMem.h>

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>

#include "core/guest.h"
#include "lacuna/prof/trace.h"
#include "nvtx/install.h"
#include "nvtx/thread.h"

/// The memory extension says what a program does with its own heaps. It gives no time, so rows are stamped on arrival,
/// and no handle of ours: a region's handle is its address.
namespace lacuna::collector::nvtx {
namespace {

LacunaName nameOf(std::uint32_t type, const nvtxMessageValue_t& message) {
  if (type == NVTX_MESSAGE_TYPE_ASCII && message.ascii != nullptr) return lacunaName(message.ascii);
  if (type == NVTX_MESSAGE_TYPE_UNICODE) return prof::name(narrow(message.unicode));
  if (type == NVTX_MESSAGE_TYPE_REGISTERED && message.registered != nullptr) {
    return reinterpret_cast<const RegisteredText*>(message.registered)->text();
  }
  return 0;
}

void put(prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes, LacunaName name) {
  if (!guest::on()) return;
  prof::Allocation row;
  row.timeNs = nowNs();
  row.thread = prof::ThreadId(threadId());
  row.action = action;
  row.address = address;
  row.bytes = bytes;
  row.tensor = prof::StringId(name);
  prof::record(row);
}

std::uint64_t addressOf(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// The regions in use, with their heaps: what a heap's reset or end takes with it. Guarded by the registry's lock.
std::map<std::uint64_t, std::uint64_t>& heapOfRegion() {
  static auto* regions = new std::map<std::uint64_t, std::uint64_t>;
  return *regions;
}

void enterRegion(std::uint64_t address, std::uint64_t heap) {
  const RegistryLock lock;
  heapOfRegion()[address] = heap;
}
void leaveRegion(std::uint64_t address) {
  const RegistryLock lock;
  heapOfRegion().erase(address);
}
void freeRegionsOf(std::uint64_t heap) {
  const RegistryLock lock;
  for (auto at = heapOfRegion().begin(); at != heapOfRegion().end();) {
    if (at->second != heap) {
      ++at;
      continue;
    }
    put(prof::MemoryAction::Free, at->first, 0, 0);
    at = heapOfRegion().erase(at);
  }
}

nvtxMemVirtualRangeDesc_t rangeAt(const void* elements, std::size_t stride, std::size_t index) {
  nvtxMemVirtualRangeDesc_t range;
  std::memcpy(&range, static_cast<const char*>(elements) + index * stride, sizeof range);
  return range;
}

nvtxMemHeapHandle_t NVTX_API heapRegister(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* heap) {
  if (heap == nullptr || heap->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || heap->typeSpecificDesc == nullptr) {
    return nullptr;
  }
  const auto range = rangeAt(heap->typeSpecificDesc, 0, 0);
  put(prof::MemoryAction::Reserve, addressOf(range.ptr), range.size, nameOf(heap->messageType, heap->message));
  return reinterpret_cast<nvtxMemHeapHandle_t>(const_cast<void*>(range.ptr));
}
void NVTX_API heapUnregister(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  freeRegionsOf(addressOf(heap));
  put(prof::MemoryAction::Release, addressOf(heap), 0, 0);
}
void NVTX_API heapReset(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  freeRegionsOf(addressOf(heap));
}

void NVTX_API regionsRegister(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t* batch) {
  if (batch == nullptr || batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || batch->regionDescElements == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    const auto range = rangeAt(batch->regionDescElements, batch->regionDescElementSize, i);
    put(prof::MemoryAction::Allocate, addressOf(range.ptr), range.size, 0);
    enterRegion(addressOf(range.ptr), addressOf(batch->heap));
    if (batch->regionHandleElementsOut != nullptr) {
      batch->regionHandleElementsOut[i] = reinterpret_cast<nvtxMemRegionHandle_t>(const_cast<void*>(range.ptr));
    }
  }
}

void NVTX_API regionsResize(nvtxDomainHandle_t, const nvtxMemRegionsResizeBatch_t* batch) {
  if (batch == nullptr || batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || batch->regionDescElements == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < batch->regionDescCount; ++i) {
    const auto range = rangeAt(batch->regionDescElements, batch->regionDescElementSize, i);
    put(prof::MemoryAction::Free, addressOf(range.ptr), 0, 0);
    put(prof::MemoryAction::Allocate, addressOf(range.ptr), range.size, 0);
  }
}

void NVTX_API regionsUnregister(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t* batch) {
  if (batch == nullptr || batch->refElements == nullptr) return;
  for (std::size_t i = 0; i < batch->refCount; ++i) {
    nvtxMemRegionRef_t region;
    std::memcpy(&region, reinterpret_cast<const char*>(batch->refElements) + i * batch->refElementSize, sizeof region);
    put(prof::MemoryAction::Free, addressOf(region.pointer), 0, 0);
    leaveRegion(addressOf(region.pointer));
  }
}

void NVTX_API regionsName(nvtxDomainHandle_t domain, const nvtxMemRegionsNameBatch_t* batch) {
  if (batch == nullptr || batch->regionElements == nullptr || !guest::on()) return;
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    nvtxMemRegionNameDesc_t region;
    std::memcpy(&region, reinterpret_cast<const char*>(batch->regionElements) + i * batch->regionElementSize,
                sizeof region);
    LacunaEvent event{};
    event.domain = Domain::of(domain).name();
    event.category = lacunaName("memory name");
    event.name = nameOf(region.nameType, region.name);
    event.payloadType = LacunaPayloadU64;
    event.payload = addressOf(region.region.pointer);
    lacunaMarkEvent(&event);
  }
}

// --- permissions -----------------------------------------------------------------------------------------------------

/// Permissions are told as marks: what the program declared, of which memory, and in which of its objects.
struct Declaration {
  nvtxDomainHandle_t domain;
  const char* name;
  std::string text;
  std::uint64_t address = 0;
};
void tell(const Declaration& declared) {
  if (!guest::on()) return;
  LacunaEvent event{};
  event.domain = Domain::of(declared.domain).name();
  event.category = lacunaName("memory permissions");
  event.name = lacunaName(declared.name);
  event.text = prof::name(declared.text);
  if (declared.address != 0) {
    event.payloadType = LacunaPayloadU64;
    event.payload = declared.address;
  }
  lacunaMarkEvent(&event);
}

/// Objects that the program makes have numbers from here on; CUDA's are the process's and, by number, the devices'.
constexpr std::uintptr_t kCudaProcess = 1;
constexpr std::uintptr_t kCudaDevices = 2;
constexpr std::uintptr_t kFirstOwn = 1 << 16;
std::atomic<std::uintptr_t> nextPermissions{kFirstOwn};

nvtxMemPermissionsHandle_t permissionsHandle(std::uintptr_t number) {
  return reinterpret_cast<nvtxMemPermissionsHandle_t>(number);
}
std::string nameOf(nvtxMemPermissionsHandle_t permissions) {
  const auto number = reinterpret_cast<std::uintptr_t>(permissions);
  if (number == 0) return "of=process";
  if (number == kCudaProcess) return "of=cuda";
  if (number < kFirstOwn) return "of=cuda:" + std::to_string(number - kCudaDevices);
  return "of=" + std::to_string(number - kFirstOwn + 1);
}

struct Flag {
  std::uint32_t bit;
  const char* name;
};
std::string wordsOf(std::uint32_t flags, std::initializer_list<Flag> known, const char* none) {
  std::string words;
  for (const Flag& flag : known) {
    if ((flags & flag.bit) == 0) continue;
    words += words.empty() ? "" : ",";
    words += flag.name;
  }
  return words.empty() ? none : words;
}
std::string accessOf(std::uint32_t flags) {
  return "access=" + wordsOf(flags,
                             {{NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ, "read"},
                              {NVTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE, "write"},
                              {NVTX_MEM_PERMISSIONS_REGION_FLAGS_ATOMIC, "atomic"},
                              {NVTX_MEM_PERMISSIONS_REGION_FLAGS_RESET, "reset"}},
                             "none");
}

void NVTX_API permissionsAssign(nvtxDomainHandle_t domain, const nvtxMemPermissionsAssignBatch_t* batch) {
  if (batch == nullptr || batch->regionElements == nullptr) return;
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    nvtxMemPermissionsAssignRegionDesc_t region;
    std::memcpy(&region, reinterpret_cast<const char*>(batch->regionElements) + i * batch->regionElementSize,
                sizeof region);
    tell({domain, "assign", nameOf(batch->permissions) + " " + accessOf(region.flags),
          addressOf(region.region.pointer)});
  }
}
nvtxMemPermissionsHandle_t NVTX_API permissionsCreate(nvtxDomainHandle_t domain, std::int32_t flags) {
  const auto made = permissionsHandle(nextPermissions.fetch_add(1));
  const std::string without = wordsOf(static_cast<std::uint32_t>(flags),
                                      {{NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_READ, "read"},
                                       {NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_WRITE, "write"},
                                       {NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_ATOMIC, "atomic"}},
                                      "nothing");
  tell({domain, "create", nameOf(made) + " excludes=" + without});
  return made;
}
void NVTX_API permissionsDestroy(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions) {
  tell({domain, "destroy", nameOf(permissions)});
}
void NVTX_API permissionsReset(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions) {
  tell({domain, "reset", nameOf(permissions)});
}
const char* scopeOf(std::uint32_t scope) {
  if (scope == NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD) return "scope=thread";
  return scope == NVTX_MEM_PERMISSIONS_BIND_SCOPE_CUDA_STREAM ? "scope=stream" : "scope=unknown";
}
void NVTX_API permissionsBind(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, std::uint32_t scope,
                              std::uint32_t flags) {
  const std::string strict = wordsOf(flags,
                                     {{NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_READ, "read"},
                                      {NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_WRITE, "write"},
                                      {NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_ATOMIC, "atomic"}},
                                     "nothing");
  tell({domain, "bind", nameOf(permissions) + " " + scopeOf(scope) + " strict=" + strict});
}
void NVTX_API permissionsUnbind(nvtxDomainHandle_t domain, std::uint32_t scope) {
  tell({domain, "unbind", scopeOf(scope)});
}

// --- of CUDA, whose header cannot be had without CUDA ----------------------------------------------------------------

nvtxMemPermissionsHandle_t NVTX_API cudaProcessPermissions(nvtxDomainHandle_t) {
  return permissionsHandle(kCudaProcess);
}
nvtxMemPermissionsHandle_t NVTX_API cudaDevicePermissions(nvtxDomainHandle_t, int device) {
  return permissionsHandle(kCudaDevices + static_cast<std::uintptr_t>(device < 0 ? 0 : device));
}
void NVTX_API cudaPeerAccess(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, int peer,
                             std::uint32_t flags) {
  const std::string who = peer < 0 ? "all" : std::to_string(peer);
  tell({domain, "peer access", nameOf(permissions) + " peer=" + who + " " + accessOf(flags)});
}

/// As nvtxMemMarkInitializedBatch_t in nvToolsExtMemCudaRt.h.
struct InitializedBatch {
  std::uint16_t extCompatID;
  std::uint16_t structSize;
  std::uint32_t regionType;
  std::size_t regionDescCount;
  std::size_t regionDescElementSize;
  const void* regionDescElements;
};
void NVTX_API cudaMarkInitialized(nvtxDomainHandle_t domain, void* stream, std::uint8_t,
                                  const InitializedBatch* batch) {
  if (batch == nullptr || batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || batch->regionDescElements == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < batch->regionDescCount; ++i) {
    const auto range = rangeAt(batch->regionDescElements, batch->regionDescElementSize, i);
    tell({domain, "initialized", "bytes=" + std::to_string(range.size) + " stream=" + std::to_string(addressOf(stream)),
          addressOf(range.ptr)});
  }
}

}  // namespace

void installMemory(intptr_t* slots, std::size_t count) {
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapRegister, heapRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapUnregister, heapUnregister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapReset, heapReset);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsRegister, regionsRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsResize, regionsResize);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsUnregister, regionsUnregister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsName, regionsName);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemPermissionsAssign, permissionsAssign);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemPermissionsCreate, permissionsCreate);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemPermissionsDestroy, permissionsDestroy);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemPermissionsReset, permissionsReset);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemPermissionsBind, permissionsBind);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemPermissionsUnbind, permissionsUnbind);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemCudaGetProcessWidePermissions, cudaProcessPermissions);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemCudaGetDeviceWidePermissions, cudaDevicePermissions);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemCudaSetPeerAccess, cudaPeerAccess);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemCudaMarkInitialized, cudaMarkInitialized);
}

}  // namespace lacuna::collector::nvtx
