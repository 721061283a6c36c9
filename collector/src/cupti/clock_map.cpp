// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/clock_map.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace lacuna::collector::cupti {
namespace {

/// A change of the offset per second of time above which the clock was set, not slewed (adjtime
/// slews by at most 0.05 %).
constexpr std::int64_t kMaxSlewPerSecondNs = 1'000'000;
/// A pair beyond this is damaged; sums of stamps and distances stay within 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 62;

/// Readings of a pair differ from the truth by no more.
constexpr prof::TimeNs kReadingNs = 500'000;

std::int64_t mostSlewNs(prof::TimeNs spanNs) {
  return kMaxSlewPerSecondNs * (1 + spanNs / 1'000'000'000);
}

}  // namespace

void ClockMap::add(std::int64_t stampNs, prof::TimeNs monotonicNs) {
  if (stampNs < 0 || monotonicNs < 0 || stampNs >= kMost || monotonicNs >= kMost) return;
  const Pair pair{stampNs, monotonicNs};
  if (!pairs_.empty()) {
    const Pair& last = pairs_.back();
    const std::int64_t change = std::llabs(pair.offset() - last.offset());
    if (change > mostSlewNs(std::max<prof::TimeNs>(monotonicNs - last.monotonicNs, 0))) {
      begins_.push_back(pairs_.size());
      ++timesSet_;
      mostSetNs_ = std::max(mostSetNs_, change);
    }
  }
  pairs_.push_back(pair);
}

void ClockMap::keepNewest(std::size_t most) {
  if (pairs_.size() < 2 * most) return;
  const std::size_t gone = pairs_.size() - most;
  pairs_.erase(pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(gone));
  std::erase_if(begins_, [&](std::size_t begin) { return begin <= gone; });
  for (std::size_t& begin : begins_) begin -= gone;
}

prof::TimeNs ClockMap::within(std::size_t begin, std::size_t end, std::int64_t stampNs) const {
  // The search starts from the newest pair, because the records at hand are recent.
  std::size_t newer = end;
  while (newer > begin && pairs_[newer - 1].stampNs > stampNs) --newer;
  if (newer == begin) return stampNs + pairs_[begin].offset();
  const Pair& before = pairs_[newer - 1];
  if (newer == end) return stampNs + before.offset();
  const Pair& after = pairs_[newer];
  const std::int64_t span = after.monotonicNs - before.monotonicNs;
  if (span <= 0) return stampNs + before.offset();
  const std::int64_t drift = after.offset() - before.offset();
  const double part = static_cast<double>(stampNs - before.stampNs) / static_cast<double>(span);
  return stampNs + before.offset() + static_cast<std::int64_t>(part * static_cast<double>(drift));
}

prof::TimeNs ClockMap::monotonic(std::int64_t stampNs) const {
  if (pairs_.empty()) return stampNs;
  if (begins_.empty()) return within(0, pairs_.size(), stampNs);
  prof::TimeNs best = 0;
  prof::TimeNs least = std::numeric_limits<prof::TimeNs>::max();
  std::size_t end = pairs_.size();
  for (std::size_t stretch = begins_.size() + 1; stretch-- > 0 && least > kReadingNs;) {
    const std::size_t begin = stretch > 0 ? begins_[stretch - 1] : 0;
    const prof::TimeNs time = within(begin, end, stampNs);
    // The clock was set somewhen between two pairs.
    const prof::TimeNs first = pairs_[begin > 0 ? begin - 1 : 0].monotonicNs;
    const prof::TimeNs last = pairs_[std::min(end, pairs_.size() - 1)].monotonicNs;
    const prof::TimeNs inside = std::max(first, std::min(time, last));
    if (const prof::TimeNs outside = std::llabs(time - inside); outside < least) {
      least = outside;
      best = outside > kReadingNs ? inside : time;
    }
    end = begin;
  }
  return best;
}

prof::TimeNs ClockMap::length(std::int64_t startStampNs, std::int64_t endStampNs) const {
  const std::int64_t apart = endStampNs - startStampNs;
  if (begins_.empty()) return apart;
  const prof::TimeNs mapped = monotonic(endStampNs) - monotonic(startStampNs);
  return std::llabs(mapped - apart) > mostSlewNs(std::llabs(mapped)) ? mapped : apart;
}

}  // namespace lacuna::collector::cupti
