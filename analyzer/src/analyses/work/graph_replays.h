// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

// Replays of CUDA or HIP graphs. A profiler may have recorded only a part of one.
// docs/analyses/graphs.md.

enum class ReplayState : std::uint8_t {
  Whole,          ///< all of the graph's work was recorded
  UnderRecorded,  ///< work is missing, though the recording went on
  Cut,            ///< its begin lies before the recording, or its end after that
};

/// One launch of a graph, with the device work of it that was recorded.
struct GraphReplay {
  prof::ProcessId process;
  std::uint64_t correlation = 0;
  prof::ThreadId thread;  ///< that launched it; none where the call was not recorded
  prof::TimeNs launchNs =
      0;  ///< the begin of the call; where that was not recorded, of the first work
  prof::TimeNs firstNs = INT64_MAX;  ///< the recorded work: first start
  prof::TimeNs lastNs = INT64_MIN;   ///< and last end
  std::int64_t workNs = 0;           ///< and its sum
  prof::QueueId queue;    ///< of the first recorded work; of none, the one that such replays use
  std::size_t graph = 0;  ///< in GraphReplays::graphs
  std::uint64_t recorded = 0;  ///< pieces of work, each node of the graph once
  std::uint64_t missing =
      0;  ///< that the graph has beyond those; 1 or more of a graph that is not known
  ReplayState state = ReplayState::Whole;

  [[nodiscard]] bool hasCall() const { return static_cast<bool>(thread); }
};

/// A graph that was made ready to run. A graph that was instantiated again is another one.
struct ReplayedGraph {
  prof::ProcessId process;
  std::uint32_t id = 0;     ///< the driver's; 0: not recorded
  std::uint64_t nodes = 0;  ///< pieces of device work of a whole replay; 0: no replay of it has any
  std::uint64_t replays = 0, underRecorded = 0, cut = 0;
  std::uint64_t missing = 0;            ///< pieces of work, in under-recorded replays
  std::vector<prof::QueueId> queues{};  ///< that its work was recorded on
};

struct GraphReplays {
  std::vector<ReplayedGraph> graphs;
  std::vector<GraphReplay> replays;  ///< in the order of their launches
  /// The stretches in which missing work may have run, one for each queue of its graph, by start.
  /// Their launches are those of the replays.
  std::vector<DeviceSpan> unrecorded;
  /// The ledgers' time that is unknown for them: of the run, and by position in the steps. Filled
  /// in with the ledgers.
  Ledger unknownOfRun{};
  std::vector<Ledger> unknownOfSteps{};
  /// Ends of `unrecorded` so far, the latest of each: stretches overlap.
  std::vector<prof::TimeNs> latestEnds;

  [[nodiscard]] std::uint64_t underRecorded() const;
  [[nodiscard]] std::uint64_t missing() const;
  /// The stretches that touch the window or begin soon after it.
  [[nodiscard]] std::vector<DeviceSpan> unrecordedNear(prof::TimeWindow window) const;
  /// True where missing work of an under-recorded replay may have run in the window.
  [[nodiscard]] bool lacksWorkIn(prof::TimeWindow window) const;
};

/// Analysis::meanStepLedger() without the time in which missing work may have run: nobody knows if
/// a device waited then.
Ledger knownMeanStep(const Analysis& analysis);

/// True for the name of a call that launches a graph: cudaGraphLaunch, cuGraphLaunch,
/// hipGraphLaunch.
bool launchesGraph(std::string_view call);

/// The replays of a trace. Reads the calls and the device work once; and once more where work is
/// missing.
prof::Result<GraphReplays> findGraphReplays(const Store& store);

}  // namespace lacuna::analyzer
