// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "core/guest.h"
#include "lacuna/collector/options.h"

namespace lacuna::collector {

/// Switches the recording on after --delay and off after --duration, once each, unless it was
/// started or stopped from outside by then.
class TimedSwitch {
 public:
  explicit TimedSwitch(const RunOptions& options)
      : onNs_(options.captureRange.empty() && options.delayNs > 0 ? options.delayNs : kNever),
        offNs_(options.durationNs > 0 && options.durationNs < kNever - options.delayNs
                   ? options.delayNs + options.durationNs
                   : kNever) {}

  /// `elapsedNs` since the program was started. For `meanwhile` see Control::switchUnlessOrdered().
  template <class Meanwhile = void (*)()>
  void check(
      Control& control, std::int64_t elapsedNs, Meanwhile&& meanwhile = [] {}) {
    if (isTime(onNs_, elapsedNs)) control.switchUnlessOrdered(true, meanwhile);
    if (isTime(offNs_, elapsedNs)) control.switchUnlessOrdered(false, meanwhile);
  }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  static bool isTime(std::int64_t& ns, std::int64_t elapsedNs) {
    return elapsedNs >= ns && std::exchange(ns, kNever) != kNever;
  }
  std::int64_t onNs_;
  std::int64_t offNs_;
};

}  // namespace lacuna::collector
