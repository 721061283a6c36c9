// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/step_watch.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace lacuna::collector {
namespace {

std::int64_t medianOf(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<StepWatch::Slow> StepWatch::add(int process, std::int64_t durationNs) {
  History& history = histories_[process];
  std::optional<Slow> slow;
  if (history.count >= kLeast) {
    std::vector<std::int64_t> values(
        history.durations.begin(),
        history.durations.begin() + static_cast<std::ptrdiff_t>(std::min(history.count, kMost)));
    const std::int64_t median = medianOf(values);
    for (std::int64_t& value : values) value = std::abs(value - median);
    const std::int64_t deviation = medianOf(values);
    const double bound =
        std::max(deviations_ * static_cast<double>(deviation), 0.2 * static_cast<double>(median));
    if (static_cast<double>(durationNs - median) > bound) slow = {durationNs, median, deviation};
  }
  history.durations[history.count++ % kMost] = durationNs;
  return slow;
}

}  // namespace lacuna::collector
