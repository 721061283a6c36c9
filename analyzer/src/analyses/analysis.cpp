// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/analysis.h"

#include <algorithm>
#include <utility>

#include "analyses/time/mean_step.h"

namespace lacuna::analyzer {
namespace {

/// 1 where there are none.
std::int64_t stepsIn(const Analysis& analysis, bool withPlain) {
  const std::int64_t count = std::ranges::count_if(analysis.steps.all, [&](const Step& step) {
    return step.within(analysis.window) && (withPlain || !step.isPlain);
  });
  return std::max<std::int64_t>(1, count);
}

}  // namespace

std::int64_t Analysis::stepCount() const {
  return stepsIn(*this, false);
}

std::int64_t Analysis::everyStepCount() const {
  return stepsIn(*this, true);
}

std::int64_t Analysis::processCount() const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(scope.only.processes.size()));
}

std::int64_t Analysis::stepNs() const {
  if (const std::int64_t median = steps.medianNs(); median > 0) return median;
  return window.endNs - window.startNs;
}

Ledger Analysis::meanStepLedger() const {
  return meanOf(*this, ledgers.steps, ledgers.run);
}

Ledger Analysis::meanPauseLedger() const {
  const std::vector<bool> counted = stepsOfMean(*this);
  const std::int64_t parts = partsOfMean(*this, std::count(counted.begin(), counted.end(), true));
  Ledger mean = ledgers.pauses;
  for (std::int64_t& ns : mean.ns) ns /= parts;
  return mean;
}

Ledger Analysis::meanStepBands() const {
  return meanOf(*this, ledgers.bands.steps, ledgers.bands.run);
}

std::int64_t Analysis::stepBandNs(std::size_t step) const {
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(1, devices.size()));
  return step < ledgers.bands.steps.size() ? ledgers.bands.steps[step].totalNs() / parts : 0;
}

std::int64_t Analysis::meanStepNs() const {
  const std::int64_t ns = meanStepLedger().totalNs();
  return ns > 0 ? ns : stepNs();
}

}  // namespace lacuna::analyzer
