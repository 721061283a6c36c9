// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/clock_map.h"

#include <algorithm>
#include <cstdlib>

namespace lacuna::collector::cupti {
namespace {

/// A change of the offset per second of time above which the clock was set, not slewed (adjtime
/// slews by at most 0.05
/// %).
constexpr std::int64_t kMaxSlewPerSecondNs = 1'000'000;
/// A pair beyond this is damaged; sums of stamps and distances stay within 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 62;

}  // namespace

void ClockMap::add(std::int64_t stampNs, prof::TimeNs monotonicNs) {
  if (stampNs < 0 || monotonicNs < 0 || stampNs >= kMost || monotonicNs >= kMost) return;
  pairs_.push_back({stampNs, monotonicNs});
}

void ClockMap::keepNewest(std::size_t most) {
  if (pairs_.size() >= 2 * most)
    pairs_.erase(pairs_.begin(), pairs_.end() - static_cast<std::ptrdiff_t>(most));
}

prof::TimeNs ClockMap::monotonic(std::int64_t stampNs) const {
  if (pairs_.empty()) return stampNs;
  // The search starts from the newest pair, because the records at hand are recent. It is also
  // right when the clock was set back and a stamp could mean two moments.
  const auto newer = std::find_if(pairs_.rbegin(), pairs_.rend(),
                                  [&](const Pair& pair) { return pair.stampNs <= stampNs; });
  if (newer == pairs_.rend()) return stampNs + pairs_.front().offset();
  if (newer == pairs_.rbegin()) return stampNs + newer->offset();
  const Pair& before = *newer;
  const Pair& after = *std::prev(newer);
  const std::int64_t span = after.monotonicNs - before.monotonicNs;
  const std::int64_t drift = after.offset() - before.offset();
  const std::int64_t allowed = kMaxSlewPerSecondNs * (1 + span / 1'000'000'000);
  if (span <= 0 || std::llabs(drift) > allowed) return stampNs + before.offset();
  const double part = static_cast<double>(stampNs - before.stampNs) / static_cast<double>(span);
  return stampNs + before.offset() + static_cast<std::int64_t>(part * static_cast<double>(drift));
}

}  // namespace lacuna::collector::cupti
