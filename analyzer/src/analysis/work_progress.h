// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// Reports how far work of several parts has come; the share never goes back. Once the work is no
/// longer wanted, everything answers false and nothing more is reported.
class WorkProgress {
 public:
  explicit WorkProgress(Progress progress) : progress_(std::move(progress)) {}

  /// Begins the part that goes on to `until` (0 … 1 of the whole).
  bool next(double until) {
    from_ = until_;
    until_ = until;
    return at(0);
  }
  /// So much of the part is done, as far as is known.
  bool at(double share) {
    if (stopped_ || !progress_) return !stopped_;
    reported_ = std::max(reported_, from_ + (until_ - from_) * std::clamp(share, 0.0, 1.0));
    stopped_ = !progress_(reported_);
    return !stopped_;
  }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  Progress progress_;
  double from_ = 0;
  double until_ = 0;
  double reported_ = 0;
  bool stopped_ = false;
};

inline prof::Error cancelled() {
  return prof::Error{"cancelled"};
}

}  // namespace lacuna::analyzer
