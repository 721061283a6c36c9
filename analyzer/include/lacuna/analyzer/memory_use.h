// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"

/// Memory by device and role, what the allocator holds, and what could bring the peak down. docs/analyses/memory.md.
namespace lacuna::analyzer {

struct RolePoint {
  prof::TimeNs timeNs = 0;
  std::array<std::uint64_t, kRoleCount> bytes{};
  [[nodiscard]] std::uint64_t totalBytes() const;
};

/// What a caching allocator held when it last had to take more from the device than ever before.
struct AllocatorState {
  bool present = false;  ///< segments were recorded
  prof::TimeNs atNs = 0;
  std::uint64_t requestedBytes = 0;    ///< that it took from the device then
  std::uint64_t reservedBytes = 0;     ///< before that
  std::uint64_t liveBytes = 0;         ///< handed out, inside its segments
  std::uint64_t largestFreeBytes = 0;  ///< in one piece
  std::uint64_t segments = 0;
  std::uint64_t freePieces = 0;

  [[nodiscard]] std::uint64_t freeBytes() const { return reservedBytes - std::min(reservedBytes, liveBytes); }
  /// The share of the free memory that is not in the largest piece, 0 … 1.
  [[nodiscard]] double fragmentation() const {
    const std::uint64_t free = freeBytes();
    return free == 0 ? 0 : 1 - static_cast<double>(largestFreeBytes) / static_cast<double>(free);
  }
  /// There was room, but in pieces too small.
  [[nodiscard]] bool fragmented() const {
    return present && requestedBytes > 0 && freeBytes() >= requestedBytes && largestFreeBytes < requestedBytes;
  }
};

struct DeviceMemory {
  prof::DeviceId device;
  std::uint64_t peakBytes = 0;
  prof::TimeNs peakAtNs = 0;
  std::uint64_t reservedPeakBytes = 0;
  std::vector<RolePoint> curve;  ///< at most some 500 points: of each stretch the moment with most bytes
  AllocatorState allocator;
};
/// This many devices have statistics of their own; each takes passes over all allocations.
inline constexpr std::size_t kMostMemories = 64;
/// By device id. Two passes over the allocations, memory by the number of live blocks.
prof::Result<std::vector<DeviceMemory>> deviceMemory(const Store& store, prof::TimeWindow window);

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
  /// Device time that computing it again takes; 0 for freeing, -1 where the operator's time is not known.
  std::int64_t costNsPerStep = 0;
  std::string why;
  prof::MemoryRole role = prof::MemoryRole::Other;
  prof::TimeWindow allocated;  ///< when the blocks that it speaks of were
  /// What the peak would be with this edit alone, made in every step; foreseePeaks() fills it in.
  std::uint64_t peakAfterBytes = 0;

  /// Whether a tensor that is alive at the peak is one of its blocks.
  [[nodiscard]] bool concerns(const LiveTensor& tensor) const;
};
/// Most bytes first for what is free, then bytes saved per nanosecond that it costs.
std::vector<PeakEdit> peakEdits(const MemoryStats& memory, const Steps& steps, std::span<const OperatorRow> operators);
/// Plays each edit on the allocations of the window: what is freed earlier goes when the step that made it ends, what
/// is recomputed is not there. One pass.
prof::Status foreseePeaks(const Store& store, prof::TimeWindow window, const Steps& steps, std::span<PeakEdit> edits,
                          const Selection& only = {});

}  // namespace lacuna::analyzer
