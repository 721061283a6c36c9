// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Which ranges are open on a thread, asked for one time after the other. The ranges must be in the
/// order of time.
class OpenRanges {
 public:
  /// `counts` answers true for a row that takes part.
  OpenRanges(StoreBuilder& builder, std::function<bool(std::size_t)> counts)
      : ranges_(builder.columns<prof::Range>()),
        counts_(std::move(counts)),
        open_(builder.columns<prof::Thread>().id.size() + 1) {}

  /// Their rows, outermost first.
  const std::vector<std::size_t>& at(prof::ThreadId thread, prof::TimeNs time) {
    for (; next_ < ranges_.startNs.size() && ranges_.startNs[next_] <= time; ++next_) {
      if (!counts_(next_)) continue;
      auto& open = open_[ranges_.thread[next_].value];
      std::erase_if(open, [&](std::size_t i) { return endOf(i) <= ranges_.startNs[next_]; });
      open.push_back(next_);
    }
    auto& open = open_[thread.value];
    std::erase_if(open, [&](std::size_t i) { return endOf(i) < time; });
    return open;
  }
  [[nodiscard]] prof::TimeNs endOf(std::size_t range) const {
    return ranges_.startNs[range] + ranges_.durNs[range];
  }

 private:
  const prof::Range::Columns& ranges_;
  std::function<bool(std::size_t)> counts_;
  std::vector<std::vector<std::size_t>> open_;  ///< by thread
  std::size_t next_ = 0;
};

}  // namespace lacuna::analyzer
