// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// How far work of several parts has come, told to whoever waits for it; it never goes back. Once the work is no longer
/// wanted, everything answers false, and nothing more is told.
class Course {
 public:
  explicit Course(Progress progress) : progress_(std::move(progress)) {}

  /// Begins the part that goes on to `until` (0 … 1 of the whole).
  bool next(double until) {
    from_ = until_;
    until_ = until;
    return at(0);
  }
  /// So much of the part is done, as far as is known.
  bool at(double share) {
    if (stopped_ || !progress_) return !stopped_;
    told_ = std::max(told_, from_ + (until_ - from_) * std::clamp(share, 0.0, 1.0));
    stopped_ = !progress_(told_);
    return !stopped_;
  }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  Progress progress_;
  double from_ = 0;
  double until_ = 0;
  double told_ = 0;
  bool stopped_ = false;
};

}  // namespace lacuna::analyzer
