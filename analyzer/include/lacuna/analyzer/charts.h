// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/pyramid.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// One stack of ranges, merged over all the times that it was open.
struct FlameNode {
  prof::StringId name;
  bool mergesSteps =
      false;  ///< ranges that mark steps and have different names; `name` is the first of these
  prof::ThreadId thread;  ///< set for the nodes below the root: one a thread, without a name
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t selfNs = 0;              ///< without the ranges inside
  std::vector<std::uint32_t> children;  ///< greatest total first
};

/// Where host threads spend their time, by stacks of pushed and popped ranges. The root is
/// nodes[0], and its total is the sum of the threads' totals. A thread's total is the sum of its
/// outermost ranges. Ranges that mark steps count as one name.
struct FlameGraph {
  std::vector<FlameNode> nodes;
  std::uint32_t deepest = 0;
};

/// Ranges that reach out of the window count with the part inside. One pass, memory by the number
/// of distinct stacks.
prof::Result<FlameGraph> flameGraph(const Store& store, prof::TimeWindow window = {},
                                    const Progress& progress = {});

/// The durations of the events of one name. Buckets are equally wide on a logarithmic scale from
/// shortest to longest.
struct DurationHistogram {
  std::vector<std::uint64_t> counts;
  std::uint64_t events = 0;
  std::int64_t shortestNs = 0;
  std::int64_t longestNs = 0;
  std::int64_t totalNs = 0;
  std::int64_t medianNs = 0;
  std::int64_t p95Ns = 0;

  /// The shortest duration of bucket i; i may be counts.size(), for the end of the last one.
  [[nodiscard]] double bucketStartNs(std::size_t i) const;
};

/// All events of a name on tracks of one kind (device work, ranges, …). Linear in the tracks'
/// events; gives up, with what it has, when progress answers false.
DurationHistogram durationHistogram(const TrackSet& tracks, TrackKind kind, prof::StringId name,
                                    std::size_t buckets = 48, const Progress& progress = {});

// The gap ledger laid out in time, for a strip under a device's tracks.

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
  std::int64_t resolutionNs =
      0;  ///< 0: exact; otherwise order within stretches of this length is lost, sums are not
};

struct LedgerStripOptions {
  /// Traces with more rows than this are laid out at a limited resolution, so that the strip's
  /// memory is bounded.
  std::uint64_t exactRows = 20'000'000;
  Progress progress;
};

/// One strip for each device of the analysis; its sums are the analysis' ledgers. Fails when
/// cancelled or when a block cannot be read.
prof::Result<std::vector<LedgerStrip>> ledgerStrips(const Analysis& analysis,
                                                    const LedgerStripOptions& options = {});

/// The cause at a moment, and the event of its lane; the lane is null outside of the window.
struct CauseAt {
  const CauseLane* lane = nullptr;
  std::size_t event = 0;
};
CauseAt causeAt(const LedgerStrip& strip, prof::TimeNs timeNs);

}  // namespace lacuna::analyzer
