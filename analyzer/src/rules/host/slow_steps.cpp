// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>

#include "analyses/time/phases.h"
#include "analyses/work/graph_replays.h"
#include "lacuna/prof/bounds.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::slow_steps {
namespace {

constexpr Threshold kAbove{"above", 0.5, Unit::Share, "Steps differ by less in most runs."};
constexpr Threshold kSpreads{"spreads", 8, Unit::Count,
                             "Beyond so many median deviations a step is no usual one."};
constexpr Threshold kRestless{
    "restless", 4, Unit::Count,
    "Where so many median deviations make a step, its steps differ too much to compare."};
constexpr Threshold kLeast{"least", 0.03, Unit::Share, "A slow step now and then costs less."};
constexpr std::array kThresholds{kAbove, kSpreads, kRestless, kLeast};

constexpr Confidence kSure{
    "", 0.4,
    "The steps are measured; what slows some of them may be wanted, as a log or an evaluation is."};
constexpr std::array kConfidences{kSure};

/// So many of the slowest steps are evidence enough.
constexpr std::size_t kMostSlowSteps = 20;

/// The time of a step in phases that have a name: nobody needs to search for those.
std::int64_t namedNs(const Analysis& analysis, const Step& step) {
  const auto& phases = analysis.steps.phases;
  std::int64_t ns = 0;
  for (auto phase = std::ranges::lower_bound(phases, step.startNs, {}, &PhaseSpan::startNs);
       phase != phases.end() && phase->startNs < step.endNs; ++phase)
    prof::addTo(ns, std::min(phase->endNs, step.endNs) - phase->startNs);
  return ns;
}

/// Pauses between steps that nothing names.
PhaseUse unnamedPauses(const Analysis& analysis) {
  for (const PhaseUse& use : analysis.of<RunPhases>().uses) {
    if (use.place == PhasePlace::BetweenSteps && use.name.empty()) return use;
  }
  return {};
}

/// Fills in count and evidence; the time lost in all.
std::int64_t addSlowSteps(const Analysis& analysis, const Steps& steps, std::int64_t limitNs,
                          Finding& finding) {
  const std::int64_t median = steps.medianNs();
  // Where the host runs ahead and is held back now and then, its steps mean nothing one by one.
  // Missing work hides how far it is ahead.
  const bool lacksWork = analysis.of<GraphReplays>().underRecorded() > 0;
  const bool isAhead = lacksWork || hostRunsAhead(analysis);
  const auto devices = static_cast<std::int64_t>(std::max<std::size_t>(1, analysis.devices.size()));
  std::int64_t lost = 0;
  for (const Step& step : steps.all) {
    if (step.durNs() <= limitNs) continue;
    const std::int64_t ownNs = step.durNs() - namedNs(analysis, step);
    if (ownNs <= limitNs) continue;
    // A host that is held back loses only the time that the devices wait.
    const Ledger& ledger = analysis.ledgers.steps.at(step.index);
    const std::int64_t waitedNs = ledger.idleNs() - (lacksWork ? ledger[Cause::Unknown] : 0);
    const std::int64_t mostNs = isAhead ? waitedNs / devices : INT64_MAX;
    prof::addTo(lost, std::min(ownNs - median, mostNs));
    ++finding.count;
    finding.evidence.push_back({step.startNs, step.endNs, step.name});
  }
  std::ranges::stable_sort(finding.evidence, std::ranges::greater(), [](const Evidence& evidence) {
    return evidence.endNs - evidence.startNs;
  });
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
  const std::int64_t lostInSteps = addSlowSteps(analysis, steps, limit, finding);
  const PhaseUse pauses = unnamedPauses(analysis);
  const GainSum gain =
      GainSum("lost in slow steps and unnamed pauses", lostInSteps + pauses.totalNs)
          .over("steps", std::max<std::int64_t>(1, static_cast<std::int64_t>(steps.all.size())));
  const std::int64_t cost = gain.value();
  if (finding.count + pauses.count == 0 || facts.shareOfStep(cost) < kLeast) return;
  finding.costNsPerStep = cost;
  finding.quantities = {Quantity::counted("steps", finding.count, "step"),
                        Quantity::time("limit", limit),
                        Quantity::counted("pauses", pauses.count, "pause")};
  finding.words = pauses.count == 0 ? "{steps} took more than {limit}{: cost a step} on average"
                  : finding.count == 0
                      ? "{pauses} between steps are longer than usual{: cost a step} on average"
                      : "{steps} took more than {limit}, and {pauses} between steps are longer "
                        "than usual{: cost a step} on average";
  if (pauses.count > 0)
    finding.evidence.insert(finding.evidence.begin(), {pauses.longest.startNs, pauses.longest.endNs,
                                                       "the longest pause between steps"});
  finding.count += pauses.count;
  // The gain if all steps were usual ones. Some of what slows them may be wanted.
  finding.gainBasis = GainBasis::Trace;
  finding.gainChain.gain = finding.gainChain.high = gain;
  finding.baseNsPerStep =
      std::max({cost, analysis.meanStepNs(), analysis.of<RunPhases>().iterationNs()});
  finding.confidence = kSure;
  finding.advice =
      "compare a slow step with its neighbours on the timeline; a range around what you suspect "
      "gives it a name";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::slow_steps

constinit const FindingRule kSlowStepsRule{
    .id = FindingId::SlowSteps,
    .key = "slow-steps",
    .area = FindingArea::Host,
    .kind = FindingKind::Opportunity,
    .cost = CostIs::OfPhases,
    .thresholds = rules::slow_steps::kThresholds,
    .confidences = rules::slow_steps::kConfidences,
    .meaning =
        "Some steps, or pauses between steps, take much longer than usual, and nothing names the "
        "reason.",
    .when =
        "steps above the median + max({above}, {spreads} MAD), without their named phases, and "
        "pauses between steps without a named phase cost ≥ {least}; where the host runs ahead (as "
        "many launches wait on average as a step has), or graph replays lack work, only the "
        "devices' waits in them; not where {restless} MAD are more than the median",
    .fix = "code; read off the trace: all steps take as long as the median one, without pauses",
    .refutedBy = "a range around the work in the slow steps that shows that the program needs it",
    .detect = rules::slow_steps::detect,
};

}  // namespace lacuna::analyzer
