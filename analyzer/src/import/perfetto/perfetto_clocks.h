// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "lacuna/prof/events.h"

namespace lacuna::analyzer {

/// The clocks of a Perfetto trace. The trace's own clock is BOOTTIME, or MONOTONIC where a snapshot
/// lacks it.
class PerfettoClocks {
 public:
  struct State {
    std::uint64_t multiplier = 1;
    bool incremental = false;
    std::int64_t last = 0;      ///< of an incremental clock, in its units
    std::int64_t offsetNs = 0;  ///< to the trace's clock
  };
  /// Clocks that a sequence of packets has for itself.
  using Local = std::map<std::uint64_t, State>;

  /// Takes a ClockSnapshot; false where it is not well-formed.
  bool readSnapshot(std::string_view bytes, Local& local);
  /// True when a snapshot relates the clock to the trace's.
  [[nodiscard]] bool explains(std::uint64_t clock, const Local& local) const;
  /// A packet's time in the trace's clock. Moves an incremental clock on.
  prof::TimeNs traceTime(std::uint64_t timestamp, std::uint64_t clock, Local& local);

  /// To be added to the trace's times for CLOCK_MONOTONIC.
  [[nodiscard]] std::int64_t toMonotonicNs() const { return toMonotonicNs_; }
  /// The relation of MONOTONIC to the real time, where a snapshot has both.
  [[nodiscard]] const std::optional<prof::Clock>& clock() const { return clock_; }

 private:
  std::map<std::uint64_t, State> clocks_;
  bool hasClocks_ = false;
  std::optional<prof::Clock> clock_;
  std::int64_t toMonotonicNs_ = 0;
};

}  // namespace lacuna::analyzer
