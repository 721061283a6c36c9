// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/pyramid.h"

/// The gap ledger laid out in time, for a strip under a device's tracks.
namespace lacuna::analyzer {

/// The stretches of one cause; an event's name is the operator, call or range that goes with it.
struct CauseLane {
  Cause cause = Cause::Unknown;
  Lane lane;
};

/// One device: every moment of `window` lies in exactly one event of one lane.
struct LedgerStrip {
  prof::DeviceId device;
  std::string label;
  prof::TimeWindow window;
  std::vector<CauseLane> causes;  ///< those that occur, in the order of Cause
  std::int64_t resolutionNs = 0;  ///< 0: exact; otherwise order within stretches of this length is lost, sums are not
};

struct LedgerStripOptions {
  /// Traces with more rows than this are laid out at a limited resolution, so that the strip's memory is bounded.
  std::uint64_t exactRows = 20'000'000;
  Progress progress;
};

/// One strip for each device of the analysis; its sums are the analysis' ledgers. Fails when cancelled or when a block
/// cannot be read.
prof::Result<std::vector<LedgerStrip>> ledgerStrips(const Analysis& analysis, const LedgerStripOptions& options = {});

/// The cause at a moment, and the event of its lane; the lane is null outside of the window.
struct CauseAt {
  const CauseLane* lane = nullptr;
  std::size_t event = 0;
};
CauseAt causeAt(const LedgerStrip& strip, prof::TimeNs timeNs);

}  // namespace lacuna::analyzer
