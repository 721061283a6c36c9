// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class LaunchIndex;
class RecordedCosts;

/// A piece of the trace. `window` is its part of the analysed window; work of the window's steps
/// may run after that, and `inSteps` is where such work can be.
struct TraceChunk {
  const Timeline& timeline;
  const LaunchIndex& index;
  prof::TimeWindow window, inSteps;
  const RecordedCosts& costs;
};

/// One analysis: how it comes from a trace to its result, which it keeps in Analysis::of<its
/// type>(). The steps, the window, the devices and the scope are given; the ledgers are complete
/// when `compute` is called.
struct AnalysisPart {
  std::string_view name;
  /// The analyses whose results this one reads: each runs before it.
  std::span<const AnalysisPart* const> inputs = {};
  /// Adds a chunk to what the earlier ones gave. Chunks come in order of time.
  void (*add)(Analysis& analysis, const TraceChunk& chunk) = nullptr;
  /// Brings sums of chunks into their order; called once, after the last chunk.
  void (*finish)(Analysis& analysis) = nullptr;
  /// Computes what needs all of the window at once.
  prof::Status (*compute)(Analysis& analysis) = nullptr;
};

using PartList = std::span<const AnalysisPart* const>;

/// Keeps a result, or passes its error on.
template <class Result>
prof::Status keep(Analysis& analysis, prof::Result<Result> result) {
  if (!result) return result.error();
  analysis.of<Result>() = std::move(*result);
  return {};
}

}  // namespace lacuna::analyzer
