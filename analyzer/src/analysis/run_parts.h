// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyses/disturbance/recording_bands.h"
#include "analyses/part.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/analysis.h"

/// Runs analyses, each after its inputs, on a trace whose steps, window, devices and scope are
/// given.
namespace lacuna::analyzer {

/// Adds a chunk of the trace to their results. `chunk`: the time that the timeline is of. Returns
/// early, with results that are of no use, once the work is no longer wanted.
void addChunk(Analysis& analysis, PartList parts, const Timeline& timeline, prof::TimeWindow chunk,
              const RecordedCosts& costs, WorkProgress& progress);
/// Brings the sums of chunks into their order; call it once, after the last.
void finishChunks(Analysis& analysis, PartList parts);
/// Computes what needs all of the window at once, from `from` to `until` of the progress; the
/// ledgers are complete.
prof::Status computeParts(Analysis& analysis, PartList parts, WorkProgress& progress, double from,
                          double until);

}  // namespace lacuna::analyzer
