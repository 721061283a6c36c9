// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtMem.h>

#include <cstring>
#include <map>

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

}  // namespace

void installMemory(intptr_t* slots, std::size_t count) {
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapRegister, heapRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapUnregister, heapUnregister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapReset, heapReset);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsRegister, regionsRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsResize, regionsResize);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsUnregister, regionsUnregister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsName, regionsName);
}

}  // namespace lacuna::collector::nvtx
