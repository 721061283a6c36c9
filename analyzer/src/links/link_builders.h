// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lacuna/analyzer/links.h"

namespace lacuna::analyzer {

inline constexpr std::uint32_t kNoLink = Links::kNone;

/// Kernels, copies and memsets numbered through, and how they join launches. An empty vector links
/// nothing.
struct LaunchLinks {
  static constexpr std::uint32_t kIsRange = 1U << 31;

  std::uint64_t kernels = 0, copies = 0, memsets = 0;
  std::vector<std::uint32_t> launch;  ///< by work: a row, marked where it is a range
  std::vector<std::uint32_t> next;    ///< by work: the next work of the same launch
  std::vector<std::uint32_t> firstOfCall, firstOfRange;  ///< by row: the first work launched

  [[nodiscard]] std::uint64_t number(const EventRef& work) const;
  [[nodiscard]] EventRef work(std::uint64_t number) const;
};
/// Nothing where it is no longer wanted.
std::optional<LaunchLinks> buildLaunchLinks(const Store& store, const OwnerTree& owners,
                                            const Links::Wanted& wanted);

struct NestingLinks {
  std::vector<std::uint32_t> parent;      ///< by row of range
  std::vector<std::uint32_t> aroundCall;  ///< by row of api_call
};
/// Nothing where it is no longer wanted.
std::optional<NestingLinks> buildNestingLinks(const Store& store, const Links::Wanted& wanted);

/// By row of allocation.
std::vector<std::uint32_t> buildAllocationLinks(const Store& store, const OwnerTree& owners);

struct FlowLinks {
  std::vector<std::uint32_t> next, previous;  ///< by row of flow
};
FlowLinks buildFlowLinks(const Store& store);

}  // namespace lacuna::analyzer
