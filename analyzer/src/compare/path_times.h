// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tracks/path_tree.h"

namespace lacuna::analyzer {

/// The time that a path took in one step.
struct StepTime {
  PathTree::Path path = PathTree::kRoot;
  std::uint32_t step = 0;
  std::int64_t ns = 0;
};

/// All times of a path.
struct PathTimes {
  PathTree::Path path = PathTree::kRoot;
  std::span<const StepTime> steps;  ///< that it took time in, in order
  std::int64_t deviceNs = 0;

  /// One value for each of so many steps, with zeros.
  [[nodiscard]] std::vector<std::int64_t> byStep(std::size_t count) const;
};

/// Sums of times by path and step. A path takes memory for the steps that it takes time in.
class PathTimeSums {
 public:
  void add(StepTime time);
  void addDevice(StepTime time);
  /// In order of paths; holds until the next add.
  std::vector<PathTimes> byPath();

 private:
  void compact();

  std::vector<StepTime> times_;
  std::size_t compactAt_ = 1 << 16;
  std::unordered_map<PathTree::Path, std::int64_t> deviceNs_;
};

}  // namespace lacuna::analyzer
