// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/clock_line.h"

#include <algorithm>
#include <ctime>

#include "lacuna/prof/bounds.h"

namespace lacuna::prof::recording {
namespace {

__extension__ using Wide = __int128;

constexpr TimeNs kKeepEvery = 100'000'000;

TimeNs inBounds(Wide timeNs) {
  return static_cast<TimeNs>(std::clamp(timeNs, Wide{-kFarthestNs}, Wide{kFarthestNs}));
}

std::uint64_t readTsc() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

}  // namespace

TimeNs clockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return nanoseconds(now);
}

Tick readClocks() {
  Tick best;
  std::uint64_t bestWidth = ~0ull;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::uint64_t before = readTsc();
    const TimeNs monotonicNs = clockNs(CLOCK_MONOTONIC);
    const std::uint64_t after = readTsc();
    const TimeNs realtimeNs = clockNs(CLOCK_REALTIME);
    // All three count: one that was held up in front of the wall clock would see that clock ahead.
    const std::uint64_t width = readTsc() - before;
    if (width >= bestWidth) continue;
    bestWidth = width;
    best = {before + (after - before) / 2, monotonicNs, realtimeNs};
  }
  return best;
}

void ClockLine::add(const Tick& tick) {
  const auto at = std::lower_bound(ticks_.begin(), ticks_.end(), tick,
                                   [](const Tick& a, const Tick& b) { return a.tsc < b.tsc; });
  if (at != ticks_.end() && (at->tsc == tick.tsc || at->monotonicNs <= tick.monotonicNs)) return;
  if (at != ticks_.begin() && (at - 1)->monotonicNs >= tick.monotonicNs) return;
  const bool newest = at == ticks_.end();
  const std::size_t count = ticks_.size();
  ticks_.insert(at, tick);
  // Ten ticks a second are plenty for the past.
  if (newest && count >= 3 &&
      ticks_[count - 1].monotonicNs - ticks_[count - 3].monotonicNs < kKeepEvery) {
    ticks_.erase(ticks_.end() - 3);
  }
}

TimeNs ClockLine::along(const Tick& from, const Tick& to, std::uint64_t tsc) const {
  const auto run = static_cast<Wide>(to.tsc) - static_cast<Wide>(from.tsc);
  const auto rise = static_cast<Wide>(to.monotonicNs) - from.monotonicNs;
  if (tsc >= from.tsc && tsc - from.tsc < 1ull << 32 && rise < 1ll << 31) {
    // 128-bit division costs more than all the rest of draining a record.
    return inBounds(from.monotonicNs +
                    static_cast<Wide>((tsc - from.tsc) * static_cast<std::uint64_t>(rise) /
                                      static_cast<std::uint64_t>(run)));
  }
  const auto offset = static_cast<Wide>(tsc) - static_cast<Wide>(from.tsc);
  return inBounds(from.monotonicNs + offset * rise / run);
}

TimeNs ClockLine::toMonotonic(std::uint64_t tsc) const {
  if (ticks_.empty()) return inBounds(static_cast<TimeNs>(tsc));
  // Without a second tick a stamp counts as a nanosecond.
  if (ticks_.size() == 1)
    return inBounds(Wide{ticks_[0].monotonicNs} + static_cast<std::int64_t>(tsc - ticks_[0].tsc));
  // Stamps to convert are almost always from after the last tick but one.
  const Tick* to = &ticks_.back();
  if (tsc < (to - 1)->tsc) {
    to = &*std::upper_bound(ticks_.begin() + 1, ticks_.end() - 1, tsc,
                            [](std::uint64_t value, const Tick& tick) { return value < tick.tsc; });
  }
  return along(*(to - 1), *to, tsc);
}

}  // namespace lacuna::prof::recording
