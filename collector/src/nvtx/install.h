// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdint>

struct nvtxExtModuleInfo_t;

namespace lacuna::collector::nvtx {

/// Puts our functions into one NVTX module of the process (each library with NVTX in it is one).
/// False when the module is not what this header knows.
bool installCore(NvtxGetExportTableFunc_t exportTable);
/// The same for an extension: payload, counters, memory, or the tensor runtime's complete
/// operators.
bool installExtension(nvtxExtModuleInfo_t* module);

/// Puts one function into its place in an extension's table, which may be one of an older header
/// and shorter.
template <class Function>
void setSlot(intptr_t* slots, std::size_t count, std::size_t id, Function* function) {
  if (id < count) slots[id] = reinterpret_cast<intptr_t>(function);
}

void installPayloads(intptr_t* slots, std::size_t count);
void installDeferred(intptr_t* slots, std::size_t count);
void installCounters(intptr_t* slots, std::size_t count);
void installMemory(intptr_t* slots, std::size_t count);
void installMemoryPermissions(intptr_t* slots, std::size_t count);
bool installSchemaModule(std::intptr_t* slots, std::size_t count);

/// The module of the tensor runtime's schema.
inline constexpr std::uint16_t kSchemaModule = 0x4c52;

}  // namespace lacuna::collector::nvtx
