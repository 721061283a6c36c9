// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>

#include "lacuna/prof/bounds.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::slow_steps {
namespace {

constexpr Threshold kAbove{"above", 0.5, Unit::Share, "Steps differ by less in most runs."};
constexpr Threshold kSpreads{"spreads", 8, Unit::Count, "Beyond so many median deviations a step is no usual one."};
constexpr Threshold kRestless{"restless", 4, Unit::Count,
                              "Where so many median deviations make a step, its steps differ too much to compare."};
constexpr Threshold kLeast{"least", 0.03, Unit::Share, "A slow step now and then costs less."};
constexpr std::array kThresholds{kAbove, kSpreads, kRestless, kLeast};

constexpr Confidence kSure{"", 0.4,
                           "The steps are measured; evaluation and checkpoints, which are wanted, look alike."};
constexpr std::array kConfidences{kSure};

/// So many of the slowest steps are evidence enough.
constexpr std::size_t kMostSlowSteps = 20;

/// Fills in count and evidence; the time lost in all.
std::int64_t addSlowSteps(const Analysis& analysis, const Steps& steps, std::int64_t limitNs, Finding& finding) {
  const std::int64_t median = steps.medianNs();
  // Where the host runs ahead and is held back now and then, its steps say nothing one by one.
  const bool isAhead = hostRunsAhead(analysis);
  const auto devices = static_cast<std::int64_t>(std::max<std::size_t>(1, analysis.devices.size()));
  std::int64_t lost = 0;
  for (const Step& step : steps.all) {
    if (step.durNs() <= limitNs) continue;
    // A host that is held back loses only the time that the devices wait.
    const std::int64_t mostNs = isAhead ? analysis.ledgers.steps.at(step.index).idleNs() / devices : INT64_MAX;
    prof::addTo(lost, std::min(step.durNs() - median, mostNs));
    ++finding.count;
    finding.evidence.push_back({step.startNs, step.endNs, step.name});
  }
  std::ranges::stable_sort(finding.evidence, std::ranges::greater(),
                           [](const Evidence& evidence) { return evidence.endNs - evidence.startNs; });
  if (finding.evidence.size() > kMostSlowSteps) finding.evidence.resize(kMostSlowSteps);
  return lost;
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  // A finding about a stretch of the run is about its steps.
  Steps steps;
  steps.all = analysis.steps.steadyWithin(analysis.window);
  const std::int64_t median = steps.medianNs();
  if (kRestless.ns() * steps.spreadNs() > median) return;
  const auto above = static_cast<std::int64_t>(kAbove * static_cast<double>(median));
  const std::int64_t limit = median + std::max(above, kSpreads.ns() * steps.spreadNs());
  Finding finding;
  const std::int64_t lost = addSlowSteps(analysis, steps, limit, finding);
  const GainSum gain = GainSum("lost in slow steps", lost)
                           .over("steps", std::max<std::int64_t>(1, static_cast<std::int64_t>(steps.all.size())));
  const std::int64_t cost = gain.value();
  if (finding.count == 0 || facts.shareOfStep(cost) < kLeast) return;
  finding.costNsPerStep = cost;
  finding.words = "{steps} took more than {limit}{: cost a step} on average";
  finding.quantities = {Quantity::counted("steps", finding.count, "step"), Quantity::time("limit", limit)};
  // The gain if all steps were usual ones. Some of what slows them may be wanted.
  finding.gainBasis = GainBasis::Trace;
  finding.gainChain.gain = finding.gainChain.high = gain;
  finding.baseNsPerStep = std::max(cost, analysis.meanStepNs());
  finding.confidence = kSure;
  finding.advice =
      "compare a slow step with its neighbours on the timeline: evaluation, checkpoints and garbage collection are "
      "usual";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::slow_steps

constinit const FindingRule kSlowStepsRule{
    .id = FindingId::SlowSteps,
    .key = "slow-steps",
    .area = FindingArea::Host,
    .kind = FindingKind::Opportunity,
    .thresholds = rules::slow_steps::kThresholds,
    .confidences = rules::slow_steps::kConfidences,
    .meaning = "Some steps take much longer than the median step.",
    .when =
        "steps above the median + max({above}, {spreads} MAD) cost ≥ {least}; where the host runs ahead (as many "
        "launches wait on average as a step has) only the devices' waits in them; not where {restless} MAD are more "
        "than the median",
    .fix = "code; read off the trace: all steps take as long as the median one",
    .refutedBy = "a run without evaluation and checkpoints whose steps are as uneven",
    .detect = rules::slow_steps::detect,
};

}  // namespace lacuna::analyzer
