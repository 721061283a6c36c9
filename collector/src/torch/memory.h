// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The reports of PyTorch's allocators to a profiler, taken without being its profiler. The calls
/// to c10::reportMemoryUsageToProfiler in libc10 and libc10_cuda reach us first, and then PyTorch.
namespace lacuna::collector::torch {

/// Begins; `cpu`: the CPU's allocations too (they are many and rarely matter where a GPU works).
/// Returns the number of libraries that report to us now: 0 when none could be led.
int watchMemory(bool cpu);

/// Ends it, for the time being: the calls go through us, and are not reported.
void stopWatchingMemory();

/// Leaves out what is allocated, or no longer. Memory that is freed is reported all the time, so
/// that nothing seems to be alive that is not.
void recordAllocations(bool on);

/// Sets what memory handed out from now on is for (the schema's roles), on this thread and those
/// without a role of their own.
void setRole(std::uint8_t role);

/// Attributes living memory, reported before, to this tensor. `cudaDevice`: -1 for the CPU.
void attributeTensor(std::uint64_t address, std::uint64_t bytes, std::uint8_t role,
                     std::int32_t cudaDevice, const char* name);

}  // namespace lacuna::collector::torch
