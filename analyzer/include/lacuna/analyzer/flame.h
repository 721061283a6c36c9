// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// One stack of ranges, merged over all the times that it was open.
struct FlameNode {
  prof::StringId name;
  bool mergesSteps = false;  ///< ranges that mark steps and have different names, of which `name` is the first
  prof::ThreadId thread;     ///< set for the nodes below the root: one a thread, without a name
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t selfNs = 0;              ///< without the ranges inside
  std::vector<std::uint32_t> children;  ///< greatest total first
};

/// Where host threads spend their time, by stacks of pushed and popped ranges. nodes[0] is the root, whose total is the
/// sum of the threads'; a thread's total is the sum of its outermost ranges. Ranges that mark steps count as one name.
struct FlameGraph {
  std::vector<FlameNode> nodes;
  std::uint32_t deepest = 0;
};

/// Ranges that reach out of the window count with the part inside. One pass, memory by the number of distinct stacks.
prof::Result<FlameGraph> flameGraph(const Store& store, prof::TimeWindow window = {}, const Progress& progress = {});

}  // namespace lacuna::analyzer
