// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/store.h"

/// When the recorder itself ran on the host's cores, and when threads of the program may have waited for that: from the
/// counters "recorder CPU" and "waiting for a core". docs/analyses/self-overhead.md.
namespace lacuna::analyzer {

struct Selection;

/// A share of a core, or of the time, that changes from moment to moment; 0 before the first of them.
class ShareCurve {
 public:
  /// From there on. Moments rise.
  void set(prof::TimeNs atNs, double share);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  [[nodiscard]] double at(prof::TimeNs atNs) const;
  /// The share times the time, in nanoseconds.
  [[nodiscard]] double between(prof::TimeNs fromNs, prof::TimeNs toNs) const;
  /// When the share changes next; `untilNs` where it does not before.
  [[nodiscard]] prof::TimeNs changeAfter(prof::TimeNs atNs, prof::TimeNs untilNs) const;

 private:
  struct Point {
    prof::TimeNs atNs;
    double sumNs;  ///< of all before
    double share;
  };
  [[nodiscard]] std::vector<Point>::const_iterator firstAfter(prof::TimeNs atNs) const;
  [[nodiscard]] double sumBefore(prof::TimeNs atNs) const;

  std::vector<Point> points_;
};

/// Cores that the recorder ran on; empty where the trace does not tell.
prof::Result<ShareCurve> recorderUse(const Store& store);

/// Of the time, what the recorder may have held the program up by taking cores: what it ran, and at most what the
/// selected threads together waited for a core. Empty where the trace does not tell what the recorder ran.
prof::Result<ShareCurve> takenCores(const Store& store, const Selection& only);

}  // namespace lacuna::analyzer
