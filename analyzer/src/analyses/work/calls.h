// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class LaunchIndex;
class RecordedCosts;

/// Copies up to this size are staged by the driver, which then returns at once, by CUDA's
/// documentation.
inline constexpr std::uint64_t kStagedBytes = std::uint64_t{64} * 1024;

struct CallRow {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::uint64_t stepCount = 0;
  std::int64_t stepNs = 0;
  std::int64_t recordingNs = 0;  ///< of totalNs, what recording may have added
  Activity activity = Activity::None;
  std::string caller;  ///< for synchronisation: the operator or range around most of its time
  /// For blocking copies: how many copies are known, and how many in the steps are too large to be
  /// staged.
  std::uint64_t copies = 0;
  std::uint64_t stepLargeCount = 0;
  std::int64_t stepLargeNs = 0;
};
using CallTable = std::vector<CallRow>;
/// Without `costs` no row has a band.
CallTable callTable(const Store& store, const Timeline& timeline, const LaunchIndex& launches,
                    prof::TimeWindow window, const RecordedCosts* costs = nullptr,
                    const StepSpans& steps = {});
/// In the order that the table has; for rows of several timelines that were added up.
void sortCalls(std::vector<CallRow>& calls);

}  // namespace lacuna::analyzer
