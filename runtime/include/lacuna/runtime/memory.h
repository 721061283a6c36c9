// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "lacuna/runtime/tensor.h"

/// The caching allocators: one per device, and one for host memory that loaders fill.
/// `LACUNA_MEMORY_LIMIT` (bytes, or with a suffix K, M, G) caps what the CPU device reserves.
namespace lacuna::rt {

struct MemoryStats {
  std::size_t active = 0;    ///< bytes that tensors asked for and hold
  std::size_t reserved = 0;  ///< bytes taken from the system
  std::size_t peakActive = 0;
  std::size_t peakReserved = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::array<std::size_t, kRoleCount> activeByRole{};
  std::array<std::size_t, kRoleCount> peakByRole{};  ///< each role's own peak
  std::array<std::size_t, kRoleCount>
      atPeakByRole{};  ///< the roles' shares when peakActive was reached
};

/// State of planned iterations (planMemory).
struct MemoryPlanStats {
  bool on = false;
  bool gaveUp = false;    ///< no recording was followed to its end; recordMemoryPlan() tries again
  std::size_t bytes = 0;  ///< of the arena; 0: no plan now
  std::size_t bound =
      0;  ///< most bytes that its buffers held at once when recorded; no packing needs less
  std::size_t buffers = 0;  ///< that have their place in the arena
  std::size_t outliving =
      0;  ///< allocations of the recorded iteration that lived on after it: they have none
  std::uint64_t recordings = 0;
  std::uint64_t replays = 0;    ///< iterations that followed the plan to its end
  std::uint64_t fallbacks = 0;  ///< iterations that left it: the rest of them came from the cache
  std::string lastFallback;     ///< where and why
};

[[nodiscard]] MemoryStats memoryStats(Device device = kCpu);
void resetPeakMemory(Device device = kCpu);
/// Gives cached free memory back to the system (waits for the queue).
void releaseCachedMemory(Device device = kCpu);
/// Reserving more than this throws OutOfMemory; 0 is no limit.
void setMemoryLimit(std::size_t bytes, Device device = kCpu);
/// The largest live tensors: bytes, role, operator that made them, name.
[[nodiscard]] std::string largestTensors(std::size_t count = 10, Device device = kCpu);

/// Plans the memory of iterations; an iteration is the work that a StepScope encloses on its
/// thread. The first one is recorded, and its allocations of more than 2 KiB that end with it are
/// packed into one arena. Allocations of later iterations get the same places as long as they come
/// in the same order and sizes. From the first one that does not, or whose place is still held, the
/// cache serves the rest of the iteration. An iteration is recorded again when two in a row left
/// the plan, or one that nothing followed yet. `LACUNA_MEMORY_PLAN=1` turns it on for the CPU
/// device.
void planMemory(bool on, Device device = kCpu);
/// Drops the plan: the next iteration is recorded.
void recordMemoryPlan(Device device = kCpu);
[[nodiscard]] MemoryPlanStats memoryPlanStats(Device device = kCpu);

}  // namespace lacuna::rt
