// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// The time of plain steps. What devices did there is not recorded, so no ledger has it.
class PlainTime {
 public:
  explicit PlainTime(std::span<const Step> steps) {
    for (const Step& step : steps) {
      if (!step.isPlain) continue;
      if (!windows_.empty() && windows_.back().endNs >= step.startNs) {
        windows_.back().endNs = step.endNs;
      } else {
        windows_.push_back({step.startNs, step.endNs});
      }
    }
  }

  /// Calls `visit` with each part of the segment that lies outside.
  template <class Visit>
  void outside(LedgerSegment segment, Visit&& visit) const {
    auto plain = std::ranges::upper_bound(windows_, segment.startNs, {}, &prof::TimeWindow::endNs);
    const prof::TimeNs endNs = segment.endNs;
    for (; plain != windows_.end() && plain->startNs < endNs; ++plain) {
      segment.endNs = plain->startNs;
      if (segment.startNs < segment.endNs) visit(segment);
      segment.startNs = plain->endNs;
    }
    segment.endNs = endNs;
    if (segment.startNs < segment.endNs) visit(segment);
  }

 private:
  std::vector<prof::TimeWindow> windows_;  ///< disjoint, in order
};

}  // namespace lacuna::analyzer
