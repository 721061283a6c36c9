// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// Its texts are the store's: thousands of blocks may share one of megabytes.
struct LiveTensor {
  std::uint64_t bytes = 0;
  prof::MemoryRole role = prof::MemoryRole::Other;
  std::string_view tensor;
  std::string_view op;
  prof::TimeNs allocatedNs = 0;
};
/// The age of a tensor that is alive at the peak, and the time that it stays.
struct TensorLife {
  prof::DeviceId device;
  prof::TimeNs freedNs = 0;
  bool freed = false;            ///< false: alive until the end of the trace
  std::uint64_t stepsOld = 0;    ///< steps that began since it was allocated
  std::uint64_t stepsAhead = 0;  ///< steps that begin after the peak while it is alive
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
/// The same in words for people; for memory whose purpose nobody gave, that it is not known.
std::string_view roleWords(prof::MemoryRole role);
struct MemoryStats {
  bool present = false;
  std::uint64_t peakBytes = 0;
  prof::TimeNs peakAtNs = 0;
  std::uint64_t peakReservedBytes = 0;
  std::array<std::uint64_t, kRoleCount> peakByRole{};
  std::vector<LiveTensor> live;    ///< at the peak, largest first
  std::vector<TensorLife> lives;   ///< of each of them, in their order
  std::vector<MemoryPoint> curve;  ///< at most some 500 points, each the greatest of its stretch
  std::vector<std::uint64_t>
      stepEndBytes;  ///< alive at the end of each step that ends within the window, or before
  std::vector<std::uint64_t>
      stepPeakBytes;  ///< by position in steps.all; what no end is known of is not complete
  std::uint64_t allocations = 0;
  std::uint64_t segmentCalls =
      0;  ///< times that the allocator went to the device or system, after the warm-up
  std::uint64_t segmentReleases = 0;  ///< and gave segments back, likewise
  std::uint64_t stepSegmentCalls = 0;
  std::uint64_t stepSegmentReleases = 0;
  std::int64_t leakBytesPerStep = 0;  ///< steady growth across the steady steps, 0 for none
  std::vector<LiveTensor> leaked;     ///< what grew, by operator: bytes per step
};
prof::Result<MemoryStats> memoryStats(const Store& store, prof::TimeWindow window,
                                      const Steps& steps, const Selection& only = {});

// Memory by device and role, what the allocator holds, and what could bring the peak down.
// docs/analyses/memory.md.

struct RolePoint {
  prof::TimeNs timeNs = 0;
  std::array<std::uint64_t, kRoleCount> bytes{};
  [[nodiscard]] std::uint64_t totalBytes() const;
};

/// The state of a caching allocator when it last had to take more from the device than ever before.
struct AllocatorState {
  bool present = false;  ///< segments were recorded
  prof::TimeNs atNs = 0;
  std::uint64_t requestedBytes = 0;    ///< that it took from the device then
  std::uint64_t reservedBytes = 0;     ///< before that
  std::uint64_t liveBytes = 0;         ///< handed out, inside its segments
  std::uint64_t largestFreeBytes = 0;  ///< in one piece
  std::uint64_t segments = 0;
  std::uint64_t freePieces = 0;

  [[nodiscard]] std::uint64_t freeBytes() const {
    return reservedBytes - std::min(reservedBytes, liveBytes);
  }
  /// The share of the free memory that is not in the largest piece, 0 … 1.
  [[nodiscard]] double fragmentation() const {
    const std::uint64_t free = freeBytes();
    return free == 0 ? 0 : 1 - static_cast<double>(largestFreeBytes) / static_cast<double>(free);
  }
  /// There was room, but in pieces too small.
  [[nodiscard]] bool fragmented() const {
    return present && requestedBytes > 0 && freeBytes() >= requestedBytes &&
           largestFreeBytes < requestedBytes;
  }
};

struct DeviceMemory {
  prof::DeviceId device;
  std::uint64_t peakBytes = 0;
  prof::TimeNs peakAtNs = 0;
  std::uint64_t reservedPeakBytes = 0;
  std::vector<RolePoint>
      curve;  ///< at most some 500 points: of each stretch the moment with most bytes
  AllocatorState allocator;
};
/// This many devices have statistics of their own; each takes passes over all allocations.
inline constexpr std::size_t kMostMemories = 64;
/// By device id. Two passes over the allocations, memory by the number of live blocks.
prof::Result<std::vector<DeviceMemory>> deviceMemory(const Store& store, prof::TimeWindow window);

/// Memory of all devices together, and of each.
struct MemoryTables {
  MemoryStats all;
  std::vector<DeviceMemory>
      devices;  ///< the kMostMemories with the highest peaks before the others
  /// As all, but of one device each: of the first kMostMemories of devices, where there are
  /// several.
  std::vector<MemoryStats> byDevice;
};

enum class PeakEditKind : std::uint8_t {
  FreeEarlier,  ///< nothing that runs at the peak needs it
  Recompute,    ///< needed later in the step, and could be computed again then
};
/// An edit that would take bytes off the peak.
struct PeakEdit {
  PeakEditKind kind = PeakEditKind::FreeEarlier;
  prof::DeviceId device;  ///< whose peak; none where the trace has the memory of one only
  std::string origin;     ///< the operator, or the tensor, that holds the memory
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  ///< blocks
  /// Device time that computing it again takes; 0 for freeing, -1 where the operator's time is not
  /// known.
  std::int64_t costNsPerStep = 0;
  std::string why;
  prof::MemoryRole role = prof::MemoryRole::Other;
  prof::TimeWindow allocated;  ///< when the blocks that it speaks of were
  /// The peak with this edit alone, made in every step; foreseePeaks() fills it in.
  std::uint64_t peakAfterBytes = 0;

  /// True when a tensor that is alive at the peak is one of its blocks.
  [[nodiscard]] bool concerns(const LiveTensor& tensor) const;
};
using PeakEdits = std::vector<PeakEdit>;  ///< of each device's own peak
/// Most bytes first for what is free, then bytes saved per nanosecond that it costs.
std::vector<PeakEdit> peakEdits(const MemoryStats& memory, const Steps& steps,
                                std::span<const OperatorRow> operators);
/// Plays each edit on the allocations of the window: what is freed earlier goes when the step that
/// made it ends, what is recomputed is not there. One pass.
prof::Status foreseePeaks(const Store& store, prof::TimeWindow window, const Steps& steps,
                          std::span<PeakEdit> edits, const Selection& only = {});

/// A block that is alive at a moment, with when it goes.
struct LiveBlock {
  LiveTensor tensor;
  prof::DeviceId device;
  prof::TimeNs freedNs = 0;
  bool freed = false;  ///< false: alive until the end of the trace

  [[nodiscard]] std::int64_t lifetimeNs() const { return freed ? freedNs - tensor.allocatedNs : 0; }
};

/// The blocks that are alive at one moment. A block that comes or goes at that very moment counts,
/// so that the moment of a peak shows the peak.
struct MemoryMoment {
  prof::TimeNs timeNs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reservedBytes = 0;  ///< held by caching allocators, 0 where the trace lacks it
  std::array<std::uint64_t, kRoleCount> byRole{};
  std::vector<LiveBlock> live;  ///< largest first

  /// Held by the allocator and not in use.
  [[nodiscard]] std::uint64_t unusedBytes() const {
    return reservedBytes > bytes ? reservedBytes - bytes : 0;
  }
};

/// The memory of one device, or of all together. One pass over the allocations. Fails when
/// cancelled or when a block cannot be read.
prof::Result<MemoryMoment> memoryAt(const Store& store, prof::TimeNs timeNs,
                                    const Progress& progress = {},
                                    std::optional<prof::DeviceId> only = {});

}  // namespace lacuna::analyzer
