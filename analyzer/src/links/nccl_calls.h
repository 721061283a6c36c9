// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/links.h"

namespace lacuna::analyzer {

/// The calls that a kernel carries out, as far as the ranges of the calls that launched it show.
struct NcclWork {
  std::uint64_t kernel = 0;  ///< its row
  CollectiveKind kind = CollectiveKind::Unknown;
  std::uint32_t calls = 0;  ///< 0: which of its group's is not known
  std::uint64_t communicator =
      0;  ///< NCCL's number; 0 where it is not known, or calls of several were launched as one
  CollectiveVolume volume{};
};

/// Kernels joined to NCCL's own ranges: kernel → launching call → the range around it on its
/// thread. Calls between ncclGroupStart and ncclGroupEnd are launched by the latter.
struct NcclCalls {
  std::vector<NcclWork> work;                              ///< by kernel
  std::unordered_map<std::uint64_t, std::uint32_t> ranks;  ///< of a communicator, by NCCL's number

  [[nodiscard]] const NcclWork* find(std::uint64_t kernel) const;
};
NcclCalls buildNcclCalls(const Store& store, const OwnerTree& owners);

}  // namespace lacuna::analyzer
