// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/timeline.h"

/// The amount of launched work that waits in a queue over time. docs/analyses/launches.md has the
/// formula.
namespace lacuna::analyzer {

class LaunchIndex;

/// So much work waiting fills a CUDA stream: the next launch is held until a piece of it has
/// started.
inline constexpr std::uint64_t kFullQueue = 1024;

struct QueueLengthPoint {
  prof::TimeNs timeNs = 0;  ///< where its stretch begins
  std::uint64_t most = 0;   ///< the greatest length in it
};

/// Launches that a queue was given, less those of them that have started.
struct QueueLength {
  prof::QueueId queue;
  std::uint64_t work = 0;     ///< pieces of it whose launch is there
  std::int64_t spanNs = 0;    ///< of what is analysed
  std::int64_t waitedNs = 0;  ///< by all pieces together: the area below the curve
  std::uint64_t most = 0;
  prof::TimeNs mostAtNs = 0;
  std::int64_t waitingNs = 0;           ///< while anything waited
  std::int64_t fullNs = 0;              ///< while kFullQueue or more did
  std::vector<QueueLengthPoint> curve;  ///< some 200 points, each the greatest of its stretch

  [[nodiscard]] double mean() const {
    return spanNs <= 0 ? 0 : static_cast<double>(waitedNs) / static_cast<double>(spanNs);
  }
};

using QueueLengths = std::vector<QueueLength>;  ///< by queue id
/// Adds what was launched to what is there, of the part of `whole` that `window` is. By queue id.
void addQueueLengths(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
                     prof::TimeWindow entire, QueueLengths& lengths);

}  // namespace lacuna::analyzer
