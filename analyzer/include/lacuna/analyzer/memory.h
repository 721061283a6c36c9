// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/steps.h"

namespace lacuna::analyzer {

/// Its texts are the store's: thousands of blocks may share one of megabytes.
struct LiveTensor {
  std::uint64_t bytes = 0;
  prof::MemoryRole role = prof::MemoryRole::Other;
  std::string_view tensor;
  std::string_view op;
  prof::TimeNs allocatedNs = 0;
};
/// How long a tensor that is alive at the peak has been there, and how long it stays.
struct TensorLife {
  prof::DeviceId device;
  prof::TimeNs freedNs = 0;
  bool freed = false;            ///< false: alive until the end of the trace
  std::uint64_t stepsOld = 0;    ///< steps that began since it was allocated
  std::uint64_t stepsAhead = 0;  ///< steps that begin behind the peak while it is alive
};
struct MemoryPoint {
  prof::TimeNs timeNs = 0;
  std::uint64_t bytes = 0;
};
inline constexpr std::size_t kRoleCount = 9;
/// A file can have roles that this version does not know; each counts as Other.
constexpr prof::MemoryRole knownRole(prof::MemoryRole role) {
  return static_cast<std::size_t>(role) < kRoleCount ? role : prof::MemoryRole::Other;
}
std::string_view roleName(prof::MemoryRole role);
/// The same for people: of what nobody said what it is for, that that is not known.
std::string_view roleWords(prof::MemoryRole role);
struct MemoryStats {
  bool present = false;
  std::uint64_t peakBytes = 0;
  prof::TimeNs peakAtNs = 0;
  std::uint64_t peakReservedBytes = 0;
  std::array<std::uint64_t, kRoleCount> peakByRole{};
  std::vector<LiveTensor> live;              ///< at the peak, largest first
  std::vector<TensorLife> lives;             ///< of each of them, in their order
  std::vector<MemoryPoint> curve;            ///< at most some 500 points, each the greatest of its stretch
  std::vector<std::uint64_t> stepEndBytes;   ///< alive at the end of each step that ends within the window, or before
  std::vector<std::uint64_t> stepPeakBytes;  ///< by position in steps.all; what no end is known of is not complete
  std::uint64_t allocations = 0;
  std::uint64_t segmentCalls = 0;     ///< times that the allocator went to the device or system, behind the warm-up
  std::uint64_t segmentReleases = 0;  ///< and gave segments back, likewise
  std::uint64_t stepSegmentCalls = 0;
  std::uint64_t stepSegmentReleases = 0;
  std::int64_t leakBytesPerStep = 0;  ///< steady growth across the steady steps, 0 for none
  std::vector<LiveTensor> leaked;     ///< what grew, by operator: bytes per step
};
prof::Result<MemoryStats> memoryStats(const Store& store, prof::TimeWindow window, const Steps& steps,
                                      const Selection& only = {});

}  // namespace lacuna::analyzer
