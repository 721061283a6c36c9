// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "lacuna/runtime/tensor.h"

/// The caching allocators: one per device, and one for host memory that loaders fill. `LACUNA_MEMORY_LIMIT` (bytes, or
/// with a suffix K, M, G) caps what the CPU device reserves.
namespace lacuna::rt {

struct MemoryStats {
  std::size_t active = 0;    ///< bytes that tensors asked for and hold
  std::size_t reserved = 0;  ///< bytes taken from the system
  std::size_t peakActive = 0;
  std::size_t peakReserved = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::array<std::size_t, kRoleCount> activeByRole{};
  std::array<std::size_t, kRoleCount> peakByRole{};    ///< each role's own peak
  std::array<std::size_t, kRoleCount> atPeakByRole{};  ///< the roles' shares when peakActive was reached
};

[[nodiscard]] MemoryStats memoryStats(Device device = kCpu);
void resetPeakMemory(Device device = kCpu);
/// Gives cached free memory back to the system (waits for the queue).
void releaseCachedMemory(Device device = kCpu);
/// Reserving more than this throws OutOfMemory; 0 is no limit.
void setMemoryLimit(std::size_t bytes, Device device = kCpu);
/// The largest live tensors: bytes, role, operator that made them, name.
[[nodiscard]] std::string largestTensors(std::size_t count = 10, Device device = kCpu);

}  // namespace lacuna::rt
