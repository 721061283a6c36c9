// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class LaunchIndex;

/// Device work by the steps that launched it, wherever it then ran.
struct StepWork {
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t ns = 0;
  };
  std::unordered_map<prof::StringId, Sum> kernels;
  std::uint64_t launches = 0;
  /// Copies and memsets that no step launched, by queue and start; there are few.
  struct PlaceHash {
    std::size_t operator()(const std::pair<prof::QueueId, prof::TimeNs>& place) const {
      return static_cast<std::size_t>(place.second) * 0x9e3779b97f4a7c15u ^ place.first.value;
    }
  };
  std::unordered_set<std::pair<prof::QueueId, prof::TimeNs>, PlaceHash> outside;
};
/// Adds what starts within the window; of a timeline that holds nothing but the scope's rows.
void addStepWork(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
                 const StepSpans& steps, StepWork& work);

}  // namespace lacuna::analyzer
