// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

/// Kernels that follow each other in the same order again and again, and runs of pointwise kernels.
/// docs/analyses/sequences.md.
namespace lacuna::analyzer {

class LaunchIndex;

/// Some kernels in order, and what all the stretches cost in which they ran so on one queue.
struct SequenceRow {
  std::vector<prof::StringId> kernels;
  std::uint64_t count = 0;    ///< how often all of them ran
  std::uint64_t runs = 0;     ///< stretches; one directly after the other is one stretch
  std::int64_t deviceNs = 0;  ///< of the kernels
  std::int64_t gapNs = 0;  ///< between the kernels of a stretch, while the queue had nothing to do

  [[nodiscard]] std::int64_t totalNs() const { return deviceNs + gapNs; }
  [[nodiscard]] std::uint64_t launches() const { return count * kernels.size(); }
};

/// Sequences in what the steps launched (without steps: in everything). A kernel is in one row of
/// each table at most.
struct SequenceStats {
  std::vector<SequenceRow> repeated;  ///< twice a step or more; longest gaps first
  std::vector<SequenceRow>
      pointwise;  ///< two or more in a row, that one kernel could do; longest gaps first
};

/// Linear in the window's device work. `steps` are the trace's, `spans` those of them that count.
SequenceStats kernelSequences(const Store& store, const Timeline& timeline,
                              const LaunchIndex& launches, prof::TimeWindow window,
                              const Steps& steps, const StepSpans& spans);
/// Adds what another part of the trace holds.
void mergeSequences(SequenceStats& into, SequenceStats more);

}  // namespace lacuna::analyzer
