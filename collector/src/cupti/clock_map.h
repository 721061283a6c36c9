// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lacuna/prof/ids.h"

namespace lacuna::collector::cupti {

/// Turns CUPTI's stamps into CLOCK_MONOTONIC, from pairs read at the same moments. CUPTI stamps in
/// nanoseconds of a clock of the system, mostly CLOCK_REALTIME, which is slewed and may be set;
/// CLOCK_MONOTONIC_RAW on WSL.
class ClockMap {
 public:
  /// In the order of reading.
  void add(std::int64_t stampNs, prof::TimeNs monotonicNs);
  /// Forgets the oldest pairs, now and then, where there are more.
  void keepNewest(std::size_t most);
  /// Follows the slew between neighbouring pairs. Where the stamps' clock was set, a stamp means a
  /// moment at which the clock showed it, the newest one if there are several. The result lies
  /// no farther from the truth than the clock was set by, and then within the time of the pairs.
  [[nodiscard]] prof::TimeNs monotonic(std::int64_t stampNs) const;
  /// The length of a span: exact, and right where the clock was set meanwhile. May be negative.
  [[nodiscard]] prof::TimeNs length(std::int64_t startStampNs, std::int64_t endStampNs) const;
  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  /// How often the clock was set, and by how much at most.
  [[nodiscard]] std::uint64_t timesSet() const { return timesSet_; }
  [[nodiscard]] std::int64_t mostSetNs() const { return mostSetNs_; }

 private:
  struct Pair {
    std::int64_t stampNs;
    prof::TimeNs monotonicNs;
    [[nodiscard]] std::int64_t offset() const { return monotonicNs - stampNs; }
  };
  /// By the pairs of one stretch, between two moments at which the clock was set.
  [[nodiscard]] prof::TimeNs within(std::size_t begin, std::size_t end, std::int64_t stampNs) const;
  std::vector<Pair> pairs_;
  std::vector<std::size_t> begins_;  ///< of stretches, but for the first
  std::uint64_t timesSet_ = 0;
  std::int64_t mostSetNs_ = 0;
};

}  // namespace lacuna::collector::cupti
