// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExtMem.h>

#include <cstddef>
#include <cstdint>
#include <string>

/// The declarations that the parts of the memory extension share.
namespace lacuna::collector::nvtx {

inline std::uint64_t addressOf(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// A declaration without a row of its own becomes a mark: what the program declared, for which
/// memory.
struct Declaration {
  nvtxDomainHandle_t domain;
  const char* category;
  const char* name;
  std::string text;
  std::uint64_t address = 0;
};
void recordDeclaration(const Declaration& declared);

/// A piece of addresses, or of a CUDA array: that has no address and, without asking CUDA for the
/// array's elements, no bytes.
struct MemoryPiece {
  std::uint64_t address = 0;  ///< or the array's handle
  std::uint64_t bytes = 0;
  std::size_t offset[3] = {};  ///< in an array
  std::size_t extent[3] = {};
};
/// For an array: where in it, and how much.
std::string placeOf(const MemoryPiece& piece);
/// Element `index` of a batch. False when the type is unknown, or the element too small for it.
bool pieceAt(std::uint32_t type, const void* elements, std::size_t stride, std::size_t index,
             MemoryPiece& piece);
/// True for the types of CUDA's arrays, runtime's or driver's.
bool isArray(std::uint32_t type);

}  // namespace lacuna::collector::nvtx
