// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Steps are left out until the timeline to replay has at most this many rows, which keeps a
/// prediction quick.
inline constexpr std::uint64_t kMostReplayedRows = 1'000'000;

/// The part of a run that a replay is of.
struct ReplayedSteps {
  prof::TimeWindow window;
  std::vector<prof::TimeNs> stepStarts;  ///< one at least
};

/// The steady steps that were asked for, as many as are cheap; without steps all that the devices
/// did.
ReplayedSteps chooseReplayed(const Analysis& analysis);

/// True where no steady step was recorded in full, or the run has no steps and was not: graph
/// replays lack work, and nothing can be replayed.
bool lacksWork(const Analysis& analysis);

}  // namespace lacuna::analyzer
