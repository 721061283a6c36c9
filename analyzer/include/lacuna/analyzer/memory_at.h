// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "lacuna/analyzer/memory.h"

namespace lacuna::analyzer {

/// A block that is alive at a moment, with when it goes.
struct LiveBlock {
  LiveTensor tensor;
  prof::DeviceId device;
  prof::TimeNs freedNs = 0;
  bool freed = false;  ///< false: alive until the end of the trace

  [[nodiscard]] std::int64_t lifetimeNs() const { return freed ? freedNs - tensor.allocatedNs : 0; }
};

/// What is alive at one moment. What comes at that very moment counts, and what goes at it still does: so the moment of
/// a peak shows the peak.
struct MemoryMoment {
  prof::TimeNs timeNs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reservedBytes = 0;  ///< held by caching allocators, 0 when the trace does not say
  std::array<std::uint64_t, kRoleCount> byRole{};
  std::vector<LiveBlock> live;  ///< largest first

  /// Held by the allocator and not in use.
  [[nodiscard]] std::uint64_t unusedBytes() const { return reservedBytes > bytes ? reservedBytes - bytes : 0; }
};

/// Of one device, or of all together. One pass over the allocations. Fails when cancelled or when a block cannot be
/// read.
prof::Result<MemoryMoment> memoryAt(const Store& store, prof::TimeNs timeNs, const Progress& progress = {},
                                    std::optional<prof::DeviceId> only = {});

}  // namespace lacuna::analyzer
