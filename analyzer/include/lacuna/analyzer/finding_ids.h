// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// The registry: one line for each finding. The name is that of its FindingId; its rule, kNameRule,
/// is defined in a file of its own under analyzer/src/rules/. Findings of equal weight are listed in this order;
/// the order in which rules run follows from what the rules declare.
#define LACUNA_FINDINGS(FINDING) \
  FINDING(LoaderRestarts)        \
  FINDING(LoaderWait)            \
  FINDING(OutOfMemory)           \
  FINDING(MemoryLeak)            \
  FINDING(MemorySpike)           \
  FINDING(AllocationChurn)       \
  FINDING(MemoryNearlyFull)      \
  FINDING(Fragmentation)         \
  FINDING(BlockingCopy)          \
  FINDING(BlockingMemset)        \
  FINDING(DebugMode)             \
  FINDING(SyncInStep)            \
  FINDING(SlowLaunches)          \
  FINDING(LaunchBound)           \
  FINDING(DriverCalls)           \
  FINDING(HostNotRunning)        \
  FINDING(CoresTaken)            \
  FINDING(HostWork)              \
  FINDING(LateStarts)            \
  FINDING(SlowSteps)             \
  FINDING(PageableCopy)          \
  FINDING(ExposedCopy)           \
  FINDING(ZeroGrad)              \
  FINDING(TinyKernels)           \
  FINDING(BiasBeforeNorm)        \
  FINDING(HalfOnCpu)             \
  FINDING(DtypeRoundTrip)        \
  FINDING(Amp)                   \
  FINDING(Fuse)                  \
  FINDING(Autotune)              \
  FINDING(OptimizerFused)        \
  FINDING(SmallBatch)            \
  FINDING(LateRank)              \
  FINDING(ExposedCommunication)  \
  FINDING(DataParallel)          \
  FINDING(SlowBackend)           \
  FINDING(UnderUtilised)

namespace lacuna::analyzer {

enum class FindingId : std::uint8_t {
#define LACUNA_FINDING_ID(name) name,
  LACUNA_FINDINGS(LACUNA_FINDING_ID)
#undef LACUNA_FINDING_ID
};
#define LACUNA_FINDING_COUNTS(name) +1
inline constexpr std::size_t kFindingCount = 0 LACUNA_FINDINGS(LACUNA_FINDING_COUNTS);
#undef LACUNA_FINDING_COUNTS

/// The room that a finding belongs to: its folder under analyzer/src/rules/.
enum class FindingArea : std::uint8_t { Loader, Host, Device, Memory, Ranks };

/// The stable text that reports and options use: "loader-wait", "sync-in-step", …
std::string_view findingKey(FindingId id);
std::optional<FindingId> findFindingId(std::string_view key);
FindingArea findingArea(FindingId id);
std::string_view findingAreaName(FindingArea area);

}  // namespace lacuna::analyzer
