// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// A thread that was ready to run, and could not because another program ran on the core.
struct DisplacedThread {
  prof::ThreadId thread;
  std::string name;
  std::int64_t ranNs = 0;
  std::int64_t lostNs = 0;                ///< to other programs
  std::vector<prof::TimeWindow> longest;  ///< stretches in which it kept losing, at most five
};

/// The time that other programs took from this one by their use of the host's cores. It holds
/// neither what its own threads took from each other, nor what the recorder took.
struct CoreContention {
  bool known =
      false;  ///< the trace shows when threads waited for a core, and how many cores there are
  prof::TimeWindow window{0, 0};  ///< the time that was examined
  std::int64_t ranNs = 0;
  std::int64_t lostNs = 0;
  std::vector<DisplacedThread> threads;  ///< most lost first; without those that lost nothing

  /// The lost share of the time that threads wanted to run, 0 … 1.
  [[nodiscard]] double lostShare() const {
    return lostNs <= 0 ? 0 : static_cast<double>(lostNs) / static_cast<double>(ranNs + lostNs);
  }
};
/// Below this share of the time, waits for a core are what any machine has.
inline constexpr double kNoContention = 0.05;

/// From the states of threads, or where there are none from the counters "thread CPU" and "waiting
/// for a core". Formula and limits: docs/analyses/whatif.md.
prof::Result<CoreContention> coreContention(const Store& store, prof::TimeWindow window,
                                            const Selection& only, std::uint32_t hostCores);

}  // namespace lacuna::analyzer
