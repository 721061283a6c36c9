// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/host/phase_cost.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

constexpr GainLimit kHidden{.name = "hidden",
                            .reason = "devices may have work meanwhile, so the gain may be nothing",
                            .of = GainLimit::Of::Gain};

/// Phases that take time in the steps, between them, or both.
struct PhaseCost {
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::vector<Evidence> longest{};
};

PhaseCost costOfPhases(const Analysis& analysis, std::span<const std::string_view> names) {
  PhaseCost cost;
  for (const PhaseUse& use : analysis.of<RunPhases>().uses) {
    const bool isInTraining =
        use.place == PhasePlace::InSteps || use.place == PhasePlace::BetweenSteps;
    if (!isInTraining || std::ranges::find(names, use.name) == names.end()) continue;
    if (use.name == names.front()) cost.count += use.count;
    prof::addTo(cost.totalNs, use.totalNs);
    cost.longest.push_back({use.longest.startNs, use.longest.endNs, use.name});
  }
  return cost;
}

}  // namespace

std::optional<Finding> phaseFinding(const Facts& facts, double least) {
  const RunPhases& run = facts.analysis.of<RunPhases>();
  const PhaseCost cost = costOfPhases(facts.analysis, facts.rule().phases);
  if (run.steps == 0 || shareOf(cost.totalNs, run.trainingNs) < least) return std::nullopt;
  Finding finding;
  finding.count = cost.count;
  finding.evidence = cost.longest;
  const GainSum gain = GainSum("time in the phases", cost.totalNs)
                           .over("steady steps", static_cast<std::int64_t>(run.steps));
  finding.costNsPerStep = gain.value();
  finding.gainBasis = GainBasis::Trace;
  finding.gainChain.gain = finding.gainChain.high = finding.gainChain.low = gain;
  if (!facts.worksInPlace()) finding.gainChain.low.atMost(kHidden, 0);
  finding.baseNsPerStep = std::max(gain.value(), run.iterationNs());
  return finding;
}

}  // namespace lacuna::analyzer
