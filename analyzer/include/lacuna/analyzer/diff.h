// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// One figure of two runs, per step. The threshold separates a change from noise; it was measured,
/// not chosen.
struct Comparison {
  std::string what;  ///< "kernels per step", "step time", "kernel NAME"
  std::string unit;  ///< "", "ns", "bytes"
  double before = 0;
  double after = 0;
  double threshold = 0;        ///< what noise alone explains, as an absolute difference
  bool deterministic = false;  ///< a count that does not depend on the machine's mood

  [[nodiscard]] double change() const { return after - before; }
  /// The change as a share of the figure before; 0 where that was 0.
  [[nodiscard]] double changeShare() const { return before == 0 ? 0 : (after - before) / before; }
  [[nodiscard]] bool worse() const { return after - before > threshold; }
  [[nodiscard]] bool better() const { return before - after > threshold; }
  [[nodiscard]] bool appeared() const { return before == 0 && after > 0; }
  [[nodiscard]] bool vanished() const { return before > 0 && after == 0; }
};

/// Counts first, then times and memory. `noise` are further runs of the baseline, whose spread
/// widens the thresholds.
std::vector<Comparison> compareRuns(const Analysis& before, const Analysis& after,
                                    std::span<const Analysis> noise = {});
/// Kernels by name: which got slower, faster, are new or gone; largest difference first.
std::vector<Comparison> compareKernels(const Analysis& before, const Analysis& after);
/// Operators by name: their own host time and their device time, per step; largest difference
/// first.
std::vector<Comparison> compareOperators(const Analysis& before, const Analysis& after);
/// The mean step's ledger, cause by cause, in the order of Cause; causes that neither run has are
/// left out.
std::vector<Comparison> compareLedgers(const Analysis& before, const Analysis& after);

// Two runs, aligned by the tree of their operators and step by step. docs/analyses/diff.md.

/// The middle of a figure's values, one a step, and their median absolute deviation from it.
struct Spread {
  std::int64_t medianNs = 0;
  std::int64_t madNs = 0;
  std::size_t steps = 0;
};
Spread spreadOf(std::span<const std::int64_t> values);

enum class DiffVerdict : std::uint8_t { Same, Slower, Faster, New, Gone };
std::string_view diffVerdictName(DiffVerdict verdict);

struct Difference {
  std::string path;  ///< "backward > linear.backward > matmul"; "step" for the whole step
  Spread before,
      after;  ///< of a step: the host's own time in it and the device time that it launched
  std::int64_t deviceBeforeNs = 0;  ///< of that, on the device; means
  std::int64_t deviceAfterNs = 0;
  std::int64_t changeNs = 0;  ///< after less before, of the medians
  std::int64_t lowNs = 0;     ///< the interval that holds 95 % of the changes of resampled steps
  std::int64_t highNs = 0;
  DiffVerdict verdict = DiffVerdict::Same;
};

/// The 95 % bootstrap interval of the difference of medians: both sides' values are drawn anew,
/// with replacement, 1,000 times. Deterministic.
std::pair<std::int64_t, std::int64_t> bootstrapInterval(std::span<const std::int64_t> before,
                                                        std::span<const std::int64_t> after);
/// Slower or faster where the interval leaves zero out and the change is more than `floorNs`.
Difference compareSteps(std::string path, std::span<const std::int64_t> before,
                        std::span<const std::int64_t> after, std::int64_t floorNs);

struct RunDiff {
  Difference step;             ///< its path is "run" where neither has steps
  bool framesLeftOut = false;  ///< frames of Python that one run alone has
  bool stepsBefore =
      false;  ///< false: no steady steps, so the whole run is compared as if it were one
  bool stepsAfter = false;
  /// The mean steps, as reports have them; 0 without steps.
  std::int64_t meanBeforeNs = 0, meanAfterNs = 0;
  std::vector<Difference>
      tree;  ///< greatest change first; what changed by less than the floor is not listed
  std::size_t pathsBefore = 0;  ///< in the trees, the common ones in both
  std::size_t pathsAfter = 0;
  std::size_t pathsCommon = 0;
};

/// Compares the steady steps of both. Where a run has no steps, the whole run is one step, and
/// there is no interval.
prof::Result<RunDiff> diffRuns(const Analysis& before, const Analysis& after);

}  // namespace lacuna::analyzer
