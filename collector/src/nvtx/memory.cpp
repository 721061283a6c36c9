// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtMem.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/guest.h"
#include "lacuna/prof/trace.h"
#include "nvtx/install.h"
#include "nvtx/memory.h"
#include "nvtx/thread.h"

/// The memory extension reports what a program does with its own heaps. It gives no time, so rows
/// are stamped on arrival, and no handle of ours: a region's handle is its address.
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

/// Returns whether it is recorded: while recording is on or, with `always`, in any case.
bool put(prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes, LacunaName name,
         bool always = false) {
  if (!always && !guest::on()) return false;
  prof::Allocation row;
  row.timeNs = nowNs();
  row.thread = prof::ThreadId(threadId());
  row.action = action;
  row.address = address;
  row.bytes = bytes;
  row.tensor = prof::StringId(name);
  prof::record(row);
  return true;
}

/// Memory that is in use. Its end is recorded if its beginning was, also when the recording has
/// been switched off meanwhile: else the memory would stay in use.
struct InUse {
  std::uint64_t heap = 0;  ///< of a region: its reset or end takes the region with it
  bool recorded = false;
};
/// By address. Guarded by the registry's lock.
using Known = std::map<std::uint64_t, InUse>;
Known& regions() {
  static auto* all = new Known;
  return *all;
}
Known& heaps() {
  static auto* all = new Known;
  return *all;
}

void enter(Known& known, std::uint64_t address, const InUse& entry) {
  const RegistryLock lock;
  known[address] = entry;
}
/// Returns what was known of it.
InUse leave(Known& known, std::uint64_t address) {
  const RegistryLock lock;
  const auto at = known.find(address);
  if (at == known.end()) return {};
  const InUse entry = at->second;
  known.erase(at);
  return entry;
}
void freeRegionsOf(std::uint64_t heap) {
  const RegistryLock lock;
  for (auto at = regions().begin(); at != regions().end();) {
    if (at->second.heap != heap) {
      ++at;
      continue;
    }
    put(prof::MemoryAction::Free, at->first, 0, 0, at->second.recorded);
    at = regions().erase(at);
  }
}

/// Regions of arrays by their handles, which are the addresses of what is kept. Guarded by the
/// registry's lock.
auto& arrayRegions() {
  static auto* regions = new std::map<const void*, std::unique_ptr<MemoryPiece>>;
  return *regions;
}

/// No allocations: they would have neither an address nor a size. Not under the registry's lock,
/// which the default domain takes where this is its first event.
void recordArray(nvtxDomainHandle_t domain, const char* what, const MemoryPiece& piece) {
  recordDeclaration({domain, "memory array", what, placeOf(piece), piece.address});
}

nvtxMemRegionHandle_t enterArray(const MemoryPiece& piece) {
  const RegistryLock lock;
  auto kept = std::make_unique<MemoryPiece>(piece);
  MemoryPiece* const handle = kept.get();
  arrayRegions().emplace(handle, std::move(kept));
  return reinterpret_cast<nvtxMemRegionHandle_t>(handle);
}

/// A region is known by its array and where it begins there.
void resizeArray(nvtxDomainHandle_t domain, const MemoryPiece& piece) {
  {
    const RegistryLock lock;
    for (auto& [handle, kept] : arrayRegions()) {
      if (kept->address == piece.address && std::ranges::equal(kept->offset, piece.offset))
        *kept = piece;
    }
  }
  recordArray(domain, "resize", piece);
}

/// False when it is no region of an array.
bool leaveArray(nvtxDomainHandle_t domain, const void* handle) {
  std::unique_ptr<MemoryPiece> piece;
  {
    const RegistryLock lock;
    const auto at = arrayRegions().find(handle);
    if (at == arrayRegions().end()) return false;
    piece = std::move(at->second);
    arrayRegions().erase(at);
  }
  recordArray(domain, "unregister", *piece);
  return true;
}

/// The region as a name gives it: the array's handle, or the address.
std::uint64_t addressOfRegion(const void* handle) {
  const RegistryLock lock;
  const auto at = arrayRegions().find(handle);
  return at != arrayRegions().end() ? at->second->address : addressOf(handle);
}

nvtxMemHeapHandle_t NVTX_API heapRegister(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* heap) {
  MemoryPiece heapPiece;
  if (heap == nullptr || heap->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS ||
      heap->typeSpecificDesc == nullptr ||
      !pieceAt(heap->type, heap->typeSpecificDesc, heap->typeSpecificDescSize, 0, heapPiece)) {
    return nullptr;
  }
  const bool recorded = put(prof::MemoryAction::Reserve, heapPiece.address, heapPiece.bytes,
                            nameOf(heap->messageType, heap->message));
  enter(heaps(), heapPiece.address, {0, recorded});
  return reinterpret_cast<nvtxMemHeapHandle_t>(heapPiece.address);
}
// Without a heap it would be all of the process's regions.
void NVTX_API heapUnregister(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  if (heap == nullptr) return;
  freeRegionsOf(addressOf(heap));
  put(prof::MemoryAction::Release, addressOf(heap), 0, 0, leave(heaps(), addressOf(heap)).recorded);
}
void NVTX_API heapReset(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  if (heap != nullptr) freeRegionsOf(addressOf(heap));
}

void NVTX_API regionsRegister(nvtxDomainHandle_t domain,
                              const nvtxMemRegionsRegisterBatch_t* batch) {
  if (batch == nullptr || batch->regionDescElements == nullptr) return;
  MemoryPiece piece;
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    if (!pieceAt(batch->regionType, batch->regionDescElements, batch->regionDescElementSize, i,
                 piece))
      return;
    const bool array = isArray(batch->regionType);
    if (array) {
      recordArray(domain, "register", piece);
    } else {
      const bool recorded = put(prof::MemoryAction::Allocate, piece.address, piece.bytes, 0);
      enter(regions(), piece.address, {addressOf(batch->heap), recorded});
    }
    if (batch->regionHandleElementsOut == nullptr) continue;
    batch->regionHandleElementsOut[i] =
        array ? enterArray(piece) : reinterpret_cast<nvtxMemRegionHandle_t>(piece.address);
  }
}

void NVTX_API regionsResize(nvtxDomainHandle_t domain, const nvtxMemRegionsResizeBatch_t* batch) {
  if (batch == nullptr || batch->regionDescElements == nullptr) return;
  MemoryPiece piece;
  for (std::size_t i = 0; i < batch->regionDescCount; ++i) {
    if (!pieceAt(batch->regionType, batch->regionDescElements, batch->regionDescElementSize, i,
                 piece))
      return;
    if (isArray(batch->regionType)) {
      resizeArray(domain, piece);
      continue;
    }
    InUse region = leave(regions(), piece.address);
    put(prof::MemoryAction::Free, piece.address, 0, 0, region.recorded);
    region.recorded = put(prof::MemoryAction::Allocate, piece.address, piece.bytes, 0);
    enter(regions(), piece.address, region);
  }
}

void NVTX_API regionsUnregister(nvtxDomainHandle_t domain,
                                const nvtxMemRegionsUnregisterBatch_t* batch) {
  if (batch == nullptr || batch->refElements == nullptr) return;
  for (std::size_t i = 0; i < batch->refCount; ++i) {
    nvtxMemRegionRef_t region;
    std::memcpy(&region,
                reinterpret_cast<const char*>(batch->refElements) + i * batch->refElementSize,
                sizeof region);
    if (leaveArray(domain, region.pointer)) continue;
    const InUse known = leave(regions(), addressOf(region.pointer));
    put(prof::MemoryAction::Free, addressOf(region.pointer), 0, 0, known.recorded);
  }
}

void NVTX_API regionsName(nvtxDomainHandle_t domain, const nvtxMemRegionsNameBatch_t* batch) {
  if (batch == nullptr || batch->regionElements == nullptr || !guest::on()) return;
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    nvtxMemRegionNameDesc_t region;
    std::memcpy(&region,
                reinterpret_cast<const char*>(batch->regionElements) + i * batch->regionElementSize,
                sizeof region);
    LacunaEvent event{};
    event.domain = Domain::of(domain).name();
    event.category = lacunaName("memory name");
    event.name = nameOf(region.nameType, region.name);
    event.payloadType = LacunaPayloadU64;
    event.payload = addressOfRegion(region.region.pointer);
    lacunaMarkEvent(&event);
  }
}

// nvToolsExtMemCudaRt.h cannot be had without CUDA; what follows is as there.
constexpr std::uint32_t kCudaArray = 0x11;  // NVTX_MEM_TYPE_CUDA_ARRAY
constexpr std::uint32_t kCuArray = 0x12;    // NVTX_MEM_TYPE_CU_ARRAY

/// nvtxMemCudaArrayRangeDesc_t and nvtxMemCuArrayRangeDesc_t.
struct ArrayRange {
  std::uint16_t extCompatID;
  std::uint16_t structSize;
  std::uint32_t reserved;
  const void* array;
  std::size_t offset[3];
  std::size_t extent[3];
};

std::string tripleOf(const std::size_t (&of)[3]) {
  return std::to_string(of[0]) + "," + std::to_string(of[1]) + "," + std::to_string(of[2]);
}

template <class T>
bool loadAt(const void* elements, std::size_t stride, std::size_t index, T& element) {
  if (stride < sizeof element) return false;
  std::memcpy(&element, static_cast<const char*>(elements) + index * stride, sizeof element);
  return true;
}

}  // namespace

bool isArray(std::uint32_t type) {
  return type == kCudaArray || type == kCuArray;
}

std::string placeOf(const MemoryPiece& piece) {
  return "offset=" + tripleOf(piece.offset) + " extent=" + tripleOf(piece.extent);
}

bool pieceAt(std::uint32_t type, const void* elements, std::size_t stride, std::size_t index,
             MemoryPiece& piece) {
  ArrayRange part{};
  if (isArray(type) && loadAt(elements, stride, index, part)) {
    piece = {addressOf(part.array)};
    std::ranges::copy(part.offset, piece.offset);
    std::ranges::copy(part.extent, piece.extent);
    return true;
  }
  nvtxMemVirtualRangeDesc_t range{};
  if (type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || !loadAt(elements, stride, index, range))
    return false;
  piece = {addressOf(range.ptr), range.size};
  return true;
}

void recordDeclaration(const Declaration& declared) {
  if (!guest::on()) return;
  LacunaEvent event{};
  event.domain = Domain::of(declared.domain).name();
  event.category = lacunaName(declared.category);
  event.name = lacunaName(declared.name);
  event.text = prof::name(declared.text);
  if (declared.address != 0) {
    event.payloadType = LacunaPayloadU64;
    event.payload = declared.address;
  }
  lacunaMarkEvent(&event);
}

void installMemory(intptr_t* slots, std::size_t count) {
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapRegister, heapRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapUnregister, heapUnregister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemHeapReset, heapReset);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsRegister, regionsRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsResize, regionsResize);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsUnregister, regionsUnregister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMemRegionsName, regionsName);
  installMemoryPermissions(slots, count);
}

}  // namespace lacuna::collector::nvtx
