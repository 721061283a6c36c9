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
  /// Follows the slew between neighbouring pairs; where the stamps' clock was set, the pair before
  /// the moment holds.
  [[nodiscard]] prof::TimeNs monotonic(std::int64_t stampNs) const;
  [[nodiscard]] bool empty() const { return pairs_.empty(); }

 private:
  struct Pair {
    std::int64_t stampNs;
    prof::TimeNs monotonicNs;
    [[nodiscard]] std::int64_t offset() const { return monotonicNs - stampNs; }
  };
  std::vector<Pair> pairs_;
};

}  // namespace lacuna::collector::cupti
