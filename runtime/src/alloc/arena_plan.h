// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lacuna::rt {

/// An allocation of the recorded iteration. Times count allocations and frees, from 1.
struct PlannedBuffer {
  std::size_t bytes = 0;
  std::uint64_t born = 0;
  std::uint64_t freed = 0;  ///< 0: it outlived the iteration, and has no place in the arena
  std::size_t offset = 0;
  [[nodiscard]] bool outlives() const { return freed == 0; }
};

struct ArenaPlan {
  std::vector<PlannedBuffer> buffers;  ///< in order of birth
  std::size_t bytes = 0;               ///< of the arena
  std::size_t bound = 0;  ///< most bytes that its buffers held at once: no packing needs less
};

/// Gives every buffer that does not outlive the iteration an offset, such that no two that live at
/// the same time overlap. Offsets are multiples of what all sizes are multiples of.
[[nodiscard]] ArenaPlan packArena(std::vector<PlannedBuffer> buffers);

}  // namespace lacuna::rt
