// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyses/work/host_nesting.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

/// Ranges of the host, projected on the device: what was launched inside of them.
/// docs/analyses/projection.md.
namespace lacuna::analyzer {

class LaunchIndex;

/// Ranges of one name that launched work.
struct ProjectedRange {
  std::string name;
  std::uint64_t count = 0;       ///< ranges
  std::uint64_t work = 0;        ///< kernels, copies and memsets
  std::int64_t hostNs = 0;       ///< of the ranges themselves
  std::int64_t projectedNs = 0;  ///< from the first start of a range's work to the last end of it
  std::int64_t busyNs = 0;       ///< of that, the union of its work
  std::int64_t minNs = 0;        ///< of projectedNs, the shortest range
  std::int64_t maxNs = 0;
};

using ProjectedRanges = std::vector<ProjectedRange>;  ///< longest on the device first

/// Collects them over the pieces of a trace, in the order of time.
class Projection {
 public:
  /// Work that starts within the window.
  void add(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
           const StepSpans& steps, const Store& store);
  /// Longest on the device first. Nothing is added any more.
  ProjectedRanges take();

 private:
  struct Instance {
    prof::TimeNs firstNs = 0;
    prof::TimeNs untilNs = 0;  ///< the last end
    std::int64_t busyNs = 0;
    std::uint64_t work = 0;
  };
  /// A range by its thread, begin, end and name.
  using Key = std::tuple<prof::ThreadId, prof::TimeNs, prof::TimeNs, prof::StringId>;

  /// Adds a span of work that starts no sooner than those before it.
  static void extend(Instance& instance, const DeviceSpan& span);
  /// Adds the part of one piece to a range that another piece has seen.
  static void join(Instance& into, const Instance& more);
  void addMade(const ByThread& ranges, const Parents& parents, const DeviceSpan& work,
               const HostSpan& launch, const StepSpans& steps, const Store& store);
  void close(const Key& key, const Instance& instance);

  std::map<Key, Instance> open_;
  std::unordered_map<prof::StringId, std::string> names_;  ///< as the table has them
  std::map<std::string, ProjectedRange> rows_;
};

}  // namespace lacuna::analyzer
