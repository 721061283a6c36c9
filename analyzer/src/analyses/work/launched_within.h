// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// Stretches of time by thread; those of one thread do not overlap.
class ThreadStretches {
 public:
  void add(prof::ThreadId thread, prof::TimeWindow stretch) {
    byThread_[thread].push_back(stretch);
  }
  /// Call it after the last add() and before the first hold().
  void finish();
  [[nodiscard]] bool hold(prof::ThreadId thread, prof::TimeNs at) const;

 private:
  std::unordered_map<prof::ThreadId, std::vector<prof::TimeWindow>> byThread_;
};

/// The time of the kernels that were launched in the stretches.
prof::Result<std::int64_t> kernelNsLaunchedIn(const Store& store, const Topology& topology,
                                              prof::TimeWindow window,
                                              const ThreadStretches& stretches);

}  // namespace lacuna::analyzer
