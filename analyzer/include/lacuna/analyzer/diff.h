// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// One figure of two runs, per step. A change is told from noise by the threshold, which was measured, not chosen.
struct Comparison {
  std::string what;  ///< "kernels per step", "step time", "kernel NAME"
  std::string unit;  ///< "", "ns", "bytes"
  double before = 0;
  double after = 0;
  double threshold = 0;        ///< what noise alone explains, as an absolute difference
  bool deterministic = false;  ///< a count that does not depend on the machine's mood

  [[nodiscard]] double change() const { return after - before; }
  /// Of what it was before; 0 for what was not there.
  [[nodiscard]] double changeShare() const { return before == 0 ? 0 : (after - before) / before; }
  [[nodiscard]] bool worse() const { return after - before > threshold; }
  [[nodiscard]] bool better() const { return before - after > threshold; }
  [[nodiscard]] bool appeared() const { return before == 0 && after > 0; }
  [[nodiscard]] bool vanished() const { return before > 0 && after == 0; }
};

/// Counts first, then times and memory. `noise` are further runs of the baseline, whose spread widens the thresholds.
std::vector<Comparison> compareRuns(const Analysis& before, const Analysis& after,
                                    std::span<const Analysis> noise = {});
/// Kernels by name: which got slower, faster, are new or gone; largest difference first.
std::vector<Comparison> compareKernels(const Analysis& before, const Analysis& after);
/// Operators by name: their own host time and their device time, per step; largest difference first.
std::vector<Comparison> compareOperators(const Analysis& before, const Analysis& after);
/// The mean step's ledger, cause by cause, in the order of Cause; causes that neither run has are left out.
std::vector<Comparison> compareLedgers(const Analysis& before, const Analysis& after);

}  // namespace lacuna::analyzer
