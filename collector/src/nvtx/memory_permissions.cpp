// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtMem.h>

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <string>

#include "nvtx/install.h"
#include "nvtx/memory.h"

/// Permissions become marks: what the program declared, for which memory, and in which of its
/// objects.
namespace lacuna::collector::nvtx {
namespace {

constexpr const char* kPermissions = "memory permissions";

/// Objects that the program makes have numbers from here on; CUDA's are the process's and, by
/// number, the devices'.
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

void NVTX_API permissionsAssign(nvtxDomainHandle_t domain,
                                const nvtxMemPermissionsAssignBatch_t* batch) {
  if (batch == nullptr || batch->regionElements == nullptr) return;
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    nvtxMemPermissionsAssignRegionDesc_t region;
    std::memcpy(&region,
                reinterpret_cast<const char*>(batch->regionElements) + i * batch->regionElementSize,
                sizeof region);
    recordDeclaration({domain, kPermissions, "assign",
                       nameOf(batch->permissions) + " " + accessOf(region.flags),
                       addressOf(region.region.pointer)});
  }
}
nvtxMemPermissionsHandle_t NVTX_API permissionsCreate(nvtxDomainHandle_t domain,
                                                      std::int32_t flags) {
  const auto made = permissionsHandle(nextPermissions.fetch_add(1));
  const std::string without =
      wordsOf(static_cast<std::uint32_t>(flags),
              {{NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_READ, "read"},
               {NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_WRITE, "write"},
               {NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_ATOMIC, "atomic"}},
              "nothing");
  recordDeclaration({domain, kPermissions, "create", nameOf(made) + " excludes=" + without});
  return made;
}
void NVTX_API permissionsDestroy(nvtxDomainHandle_t domain,
                                 nvtxMemPermissionsHandle_t permissions) {
  recordDeclaration({domain, kPermissions, "destroy", nameOf(permissions)});
}
void NVTX_API permissionsReset(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions) {
  recordDeclaration({domain, kPermissions, "reset", nameOf(permissions)});
}
const char* scopeOf(std::uint32_t scope) {
  if (scope == NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD) return "scope=thread";
  return scope == NVTX_MEM_PERMISSIONS_BIND_SCOPE_CUDA_STREAM ? "scope=stream" : "scope=unknown";
}
void NVTX_API permissionsBind(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions,
                              std::uint32_t scope, std::uint32_t flags) {
  const std::string strict = wordsOf(flags,
                                     {{NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_READ, "read"},
                                      {NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_WRITE, "write"},
                                      {NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_ATOMIC, "atomic"}},
                                     "nothing");
  recordDeclaration({domain, kPermissions, "bind",
                     nameOf(permissions) + " " + scopeOf(scope) + " strict=" + strict});
}
void NVTX_API permissionsUnbind(nvtxDomainHandle_t domain, std::uint32_t scope) {
  recordDeclaration({domain, kPermissions, "unbind", scopeOf(scope)});
}

// Those of CUDA, whose header cannot be had without CUDA.

nvtxMemPermissionsHandle_t NVTX_API cudaProcessPermissions(nvtxDomainHandle_t) {
  return permissionsHandle(kCudaProcess);
}
nvtxMemPermissionsHandle_t NVTX_API cudaDevicePermissions(nvtxDomainHandle_t, int device) {
  return permissionsHandle(kCudaDevices + static_cast<std::uintptr_t>(device < 0 ? 0 : device));
}
void NVTX_API cudaPeerAccess(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions,
                             int peer, std::uint32_t flags) {
  const std::string who = peer < 0 ? "all" : std::to_string(peer);
  recordDeclaration({domain, kPermissions, "peer access",
                     nameOf(permissions) + " peer=" + who + " " + accessOf(flags)});
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
  if (batch == nullptr || batch->regionDescElements == nullptr) return;
  const std::string on = " stream=" + std::to_string(addressOf(stream));
  MemoryPiece piece;
  for (std::size_t i = 0; i < batch->regionDescCount; ++i) {
    if (!pieceAt(batch->regionType, batch->regionDescElements, batch->regionDescElementSize, i,
                 piece))
      return;
    const std::string what =
        isArray(batch->regionType) ? placeOf(piece) : "bytes=" + std::to_string(piece.bytes);
    recordDeclaration({domain, kPermissions, "initialized", what + on, piece.address});
  }
}

}  // namespace

void installMemoryPermissions(intptr_t* slots, std::size_t count) {
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
