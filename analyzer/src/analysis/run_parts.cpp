// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/run_parts.h"

#include <algorithm>

#include "analyses/work/launch_index.h"

namespace lacuna::analyzer {

void addChunk(Analysis& analysis, PartList parts, const Timeline& timeline, prof::TimeWindow chunk,
              const RecordedCosts& costs, WorkProgress& progress) {
  const LaunchIndex index(timeline);
  const prof::TimeWindow window{std::max(chunk.startNs, analysis.window.startNs),
                                std::min(chunk.endNs, analysis.window.endNs)};
  const TraceChunk piece{timeline, index, window,
                         analysis.scope.steps.everything() ? window : chunk, costs};
  // A part takes a moment for each; nobody is kept waiting for more than one of them.
  for (const AnalysisPart* part : parts) {
    if (part->add == nullptr) continue;
    if (!progress.at(0)) return;
    part->add(analysis, piece);
  }
}

void finishChunks(Analysis& analysis, PartList parts) {
  for (const AnalysisPart* part : parts) {
    if (part->finish != nullptr) part->finish(analysis);
  }
}

prof::Status computeParts(Analysis& analysis, PartList parts, WorkProgress& progress, double from,
                          double until) {
  const auto computes = [](const AnalysisPart* part) { return part->compute != nullptr; };
  const auto all = static_cast<double>(std::ranges::count_if(parts, computes));
  double done = 0;
  for (const AnalysisPart* part : parts) {
    if (!computes(part)) continue;
    if (!progress.next(from + (until - from) * ++done / all)) return cancelled();
    if (auto status = part->compute(analysis); !status) return status;
  }
  return {};
}

}  // namespace lacuna::analyzer
