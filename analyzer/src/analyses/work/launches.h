// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class LaunchIndex;
class RecordedCosts;

struct LaunchStats {
  std::uint64_t launches = 0;
  std::uint64_t stepLaunches = 0;
  std::int64_t medianCallNs = 0;
  std::int64_t medianDelayNs = 0;  ///< end of the launch call to start of the work
  /// By how much recording may have moved the medians, at most.
  std::int64_t callRecordingNs = 0;
  std::int64_t delayRecordingNs = 0;
  std::uint64_t shorterThanCall = 0;  ///< device work that is shorter than its launch call
  std::uint64_t foundQueueEmpty = 0;  ///< launched when nothing was running or waiting on its queue
  std::uint64_t inPlace =
      0;  ///< executed by the thread that launches: a CPU's operators, where they are called
  double meanQueueDepth = 0;    ///< work launched and not finished, seen by each launch
  std::uint64_t unmatched = 0;  ///< device work without a recorded launch
};
/// Without the work of steps, which addStepWork() counts.
LaunchStats launchStats(const Timeline& timeline, const LaunchIndex& launches,
                        prof::TimeWindow window, const RecordedCosts* costs = nullptr);

}  // namespace lacuna::analyzer
