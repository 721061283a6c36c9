// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyses/disturbance/recording_bands.h"
#include "analyses/work/launch_index.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// The tables of an analysis that are added up from one chunk of the trace after the other; its scope, steps and window
/// are given.
class ChunkTables {
 public:
  ChunkTables(Analysis& analysis, StepWork& stepWork) : analysis_(analysis), stepWork_(stepWork) {}

  /// Adds a chunk. `chunk`: the time that the timeline is of. Work of the window's steps may run behind the window.
  /// Returns early, with tables that are of no use, once the work is no longer wanted.
  void add(const Timeline& timeline, prof::TimeWindow chunk, const RecordedCosts& costs, WorkProgress& progress);
  /// Brings the tables into their order; call it once, behind the last chunk.
  void finish();

 private:
  /// A chunk, and of its time the part within the window and the part whose work the window's steps may have made.
  struct Chunk {
    const Timeline& timeline;
    const LaunchIndex& index;
    prof::TimeWindow window, inSteps;
    const RecordedCosts& costs;
  };

  void addOperators(const Chunk& chunk, GroupBy by, const StepSpans& steps, std::vector<OperatorRow>& into) const;
  void addCalls(const Chunk& chunk);
  void addCommunication(const Chunk& chunk);
  void addRepetition(const Chunk& chunk);
  void addQueues(const Chunk& chunk);
  void addLaunches(const Chunk& chunk);

  Analysis& analysis_;
  StepWork& stepWork_;
  Projection projection_;
  std::size_t chunks_ = 0;
};

}  // namespace lacuna::analyzer
