// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/mean_step.h"

#include <algorithm>

namespace lacuna::analyzer {

std::vector<bool> stepsOfMean(const Analysis& analysis) {
  const auto& steps = analysis.steps.all;
  std::vector<bool> counted(steps.size());
  const auto count = [&](bool warmUp, bool isCut) {
    bool any = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].warmUp != warmUp || steps[i].isCut != isCut || steps[i].isPlain) continue;
      if (!steps[i].within(analysis.window)) continue;
      counted[i] = any = true;
    }
    return any;
  };
  if (!count(false, false) && !count(false, true) && !count(true, false)) count(true, true);
  return counted;
}

std::int64_t partsOfMean(const Analysis& analysis, std::int64_t steps) {
  return std::max<std::int64_t>(1, steps) *
         static_cast<std::int64_t>(std::max<std::size_t>(1, analysis.devices.size()));
}

Ledger meanOf(const Analysis& analysis, const std::vector<Ledger>& steps, const Ledger& run) {
  const std::vector<bool> counted = stepsOfMean(analysis);
  Ledger mean;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    if (counted[i]) mean += steps[i];
  }
  const std::int64_t count = std::count(counted.begin(), counted.end(), true);
  if (count == 0) mean = run;
  const std::int64_t parts = partsOfMean(analysis, count);
  for (std::int64_t& ns : mean.ns) ns /= parts;
  return mean;
}

}  // namespace lacuna::analyzer
