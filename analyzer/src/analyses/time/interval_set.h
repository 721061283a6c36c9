// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lacuna/prof/bounds.h"
#include "lacuna/prof/reader.h"

namespace lacuna::analyzer {

/// Intervals of time. Questions may be asked once join() has made them disjoint and put them in
/// order.
class IntervalSet {
 public:
  void add(prof::TimeWindow interval) {
    const bool goesOn = !list_.empty() && list_.back().startNs <= interval.startNs &&
                        interval.startNs <= list_.back().endNs;
    if (!goesOn) return list_.push_back(interval);
    list_.back().endNs = std::max(list_.back().endNs, interval.endNs);
  }
  void join() {
    std::ranges::sort(list_, {}, &prof::TimeWindow::startNs);
    std::size_t kept = 0;
    for (const prof::TimeWindow& next : list_) {
      if (kept > 0 && next.startNs <= list_[kept - 1].endNs) {
        list_[kept - 1].endNs = std::max(list_[kept - 1].endNs, next.endNs);
      } else {
        list_[kept++] = next;
      }
    }
    list_.resize(kept);
  }

  [[nodiscard]] bool empty() const { return list_.empty(); }
  /// True when an interval holds this moment. Its end is no part of it.
  [[nodiscard]] bool covers(prof::TimeNs at) const {
    const auto it =
        std::ranges::partition_point(list_, [&](const auto& one) { return one.endNs <= at; });
    return it != list_.end() && it->startNs <= at;
  }
  /// The same where its end is a part of it.
  [[nodiscard]] bool touches(prof::TimeNs at) const {
    const auto it =
        std::ranges::partition_point(list_, [&](const auto& one) { return one.endNs < at; });
    return it != list_.end() && it->startNs <= at;
  }
  /// Time of the window that the intervals cover.
  [[nodiscard]] std::int64_t coveredNs(prof::TimeWindow window) const {
    auto it = std::ranges::partition_point(
        list_, [&](const auto& one) { return one.endNs <= window.startNs; });
    std::int64_t sum = 0;
    for (; it != list_.end() && it->startNs < window.endNs; ++it)
      prof::addTo(sum, std::min(window.endNs, it->endNs) - std::max(window.startNs, it->startNs));
    return sum;
  }

 private:
  std::vector<prof::TimeWindow> list_;
};

}  // namespace lacuna::analyzer
