// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <vector>

#include "lacuna/prof/ids.h"

namespace lacuna::prof::recording {

inline TimeNs nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}
TimeNs clockNs(clockid_t clock);

/// The clocks of this machine at one moment.
struct Tick {
  std::uint64_t tsc = 0;  ///< 0 where the machine has no stamp counter
  TimeNs monotonicNs = 0;
  TimeNs realtimeNs = 0;
};
/// Reads them, the best of a few attempts: an attempt that was interrupted pairs values of
/// different moments.
Tick readClocks();

/// Converts stamps to CLOCK_MONOTONIC by straight lines between ticks, so that it is continuous and
/// never runs backwards.
class ClockLine {
 public:
  /// Out of order is fine; a tick that contradicts its neighbours (time running backwards) is left
  /// out.
  void add(const Tick& tick);
  /// Within the bounds of a moment, whatever the stamp.
  [[nodiscard]] TimeNs toMonotonic(std::uint64_t tsc) const;
  [[nodiscard]] bool empty() const { return ticks_.empty(); }
  [[nodiscard]] const Tick& last() const { return ticks_.back(); }
  [[nodiscard]] const Tick& first() const { return ticks_.front(); }

 private:
  [[nodiscard]] TimeNs along(const Tick& from, const Tick& to, std::uint64_t tsc) const;

  std::vector<Tick> ticks_;
};

}  // namespace lacuna::prof::recording
