// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace lacuna::collector {

/// Finds slow steps, for each process by itself. A step is slow when it takes more than
/// `deviations` median absolute deviations above the median of the steps before it (at most the
/// last 128). It must also take at least a fifth more than that median, so that the noise of very
/// regular steps is none. The first 16 steps of a process are never slow.
class StepWatch {
 public:
  explicit StepWatch(double deviations) : deviations_(deviations) {}

  struct Slow {
    std::int64_t durationNs = 0;
    std::int64_t medianNs = 0;
    std::int64_t deviationNs = 0;
  };
  std::optional<Slow> add(int process, std::int64_t durationNs);

 private:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kLeast = 16;
  struct History {
    std::array<std::int64_t, kMost> durations{};
    std::size_t count = 0;
  };
  double deviations_;
  std::map<int, History> histories_;
};

}  // namespace lacuna::collector
