// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Positions in steps.all of the first step that a report is about and of the one after the last.
inline std::pair<std::uint64_t, std::uint64_t> shownRange(const Analysis& analysis) {
  if (analysis.options.steps) return *analysis.options.steps;
  return {0, analysis.steps.all.size()};
}

/// Those alone. Where all of them are of the warm-up none is marked so, as there are no others to
/// set them apart from.
inline Steps shownSteps(const Analysis& analysis) {
  Steps steps = analysis.steps;
  const auto [first, last] = shownRange(analysis);
  steps.all.erase(steps.all.begin() + static_cast<std::ptrdiff_t>(last), steps.all.end());
  steps.all.erase(steps.all.begin(), steps.all.begin() + static_cast<std::ptrdiff_t>(first));
  const bool onlyWarmUp = std::ranges::all_of(steps.all, &Step::warmUp);
  for (Step& step : steps.all) step.warmUp = step.warmUp && !onlyWarmUp;
  return steps;
}

inline bool showsPlainSteps(const Analysis& analysis) {
  const auto [first, last] = shownRange(analysis);
  const auto from = analysis.steps.all.begin();
  return std::any_of(from + static_cast<std::ptrdiff_t>(first),
                     from + static_cast<std::ptrdiff_t>(last),
                     [](const Step& step) { return step.isPlain; });
}

/// The base of a ledger's shares, and of its times a step: these differ where a run has more than
/// steady steps.
struct LedgerColumns {
  std::string_view shares, times;
};
inline LedgerColumns ledgerColumns(const Analysis& analysis) {
  const bool steady = !analysis.steps.steadyWithin(analysis.window).empty();
  return {analysis.options.steps ? "of these steps" : "of the run",
          steady ? "steady steps" : "warm-up steps"};
}

}  // namespace lacuna::analyzer
