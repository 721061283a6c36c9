// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "lacuna/prof/amounts.h"
#include "rules/engine.h"
#include "whatif/interval.h"

namespace lacuna::analyzer {
namespace {

/// The share of a step that one decimal shows as nothing.
constexpr double kShownAsNothing = 0.0005;
/// A reader who adds up the ledger would miss so much of a cost.
constexpr double kMissed = 1.1;

/// True when a finding costs what it gains, and clearly more than the trace itself holds of it.
bool isPricedByItsGain(const Finding& finding) {
  const auto accounted = static_cast<double>(finding.accountedNsPerStep);
  return accounted > 0 && static_cast<double>(finding.costNsPerStep) > kMissed * accounted;
}

/// True when a finding in the report already explains what this rule would find.
bool isExplained(const FindingRule& rule, const Facts& facts, const Reported& reported) {
  return std::ranges::any_of(reported.findings, [&](const Finding& finding) {
    const auto explained = ruleOf(finding.id).explains;
    const auto entry = std::ranges::find(explained, rule.id, &Explained::what);
    return entry != explained.end() && (entry->when == nullptr || entry->when(facts, finding));
  });
}

/// The cost of a finding, as a ratio of all else in a step, differs by this part between a recorded
/// run and one without the recorder. Measured: the root mean square of 16 predictions for drawn
/// programs.
constexpr double kRunsDiffer = 0.36;

/// An opportunity need not cost anything: it weighs as much as it gains.
std::int64_t weightOf(const Finding& finding) {
  return finding.costNsPerStep > 0 ? finding.costNsPerStep : finding.predictedGainNsPerStep;
}

}  // namespace

std::string_view gainBasisName(GainBasis basis) {
  constexpr std::string_view kNames[]{"none", "replay", "trace", "upper_bound", "bytes"};
  return kNames[static_cast<std::size_t>(basis)];
}

double Finding::unrecordedShare(std::int64_t gainNs) const {
  const auto gain = static_cast<double>(gainNs);
  if (fullStepNs <= stepRecordingNs || gainNs <= 0) return 0;
  return std::clamp(gain * (1 - recordedShare) / static_cast<double>(fullStepNs - stepRecordingNs),
                    0.0, 1.0);
}

Finding::ShareInterval Finding::measuredInterval() const {
  if (gainBasis == GainBasis::None || gainBasis == GainBasis::Bytes) return {};
  const double noise = gainChain.prediction ? gainChain.prediction->doubt.noise : 0;
  const auto spread = [&](double share) {
    return kSigmas * std::hypot(kRunsDiffer * share * (1 - share), noise);
  };
  const double low = unrecordedShare(gainLowNsPerStep), high = unrecordedShare(gainHighNsPerStep);
  return {std::max(-1.0, low - spread(low)), std::min(1.0, high + spread(high))};
}

std::string describeGain(const Finding& finding, std::string_view per) {
  if (finding.gainBasis == GainBasis::None) return "not predicted: " + finding.notPredicted;
  const std::string sure = fmt::format("confidence {:.0f} %", prof::kPercent * finding.confidence);
  if (finding.gainBasis == GainBasis::Bytes)
    return fmt::format("frees {}, {}", prof::bytesText(finding.predictedGainBytes), sure);
  if (finding.gainShare() < kShownAsNothing) {
    return finding.gainHighNsPerStep <= 0
               ? std::string("none is predicted, as something else bounds the run")
               : fmt::format("none is predicted, as something else bounds the run; {} {} at most",
                             prof::timeText(finding.gainHighNsPerStep), per);
  }
  const bool isBound = finding.gainBasis == GainBasis::UpperBound;
  std::string out = fmt::format(
      "{}{} {} ({}{}), {}", isBound ? "up to " : "", prof::timeText(finding.predictedGainNsPerStep),
      per, prof::shareText(finding.gainShare()),
      finding.coversGaps ? " of " + prof::timeText(finding.fullStepNs) : std::string(), sure);
  if (!isBound && finding.gainHighNsPerStep > finding.gainLowNsPerStep)
    out += fmt::format(", between {} and {}", prof::timeText(finding.gainLowNsPerStep),
                       prof::timeText(finding.gainHighNsPerStep));
  if (isPricedByItsGain(finding))
    out += fmt::format("; the step's account holds {} of it",
                       prof::timeText(finding.accountedNsPerStep));
  return out;
}

std::vector<Finding> findFindings(const Analysis& analysis, const Simulator* simulator,
                                  Rules rules) {
  const auto order = runOrder(rules);
  assert(order);
  Reported reported;
  for (const FindingRule* rule :
       order ? *order : std::vector<const FindingRule*>(rules.begin(), rules.end())) {
    const Facts facts(analysis, simulator, reported, *rule);
    if (isExplained(*rule, facts, reported)) continue;
    Outcome out(facts, reported);
    rule->detect(facts, out);
  }
  std::ranges::stable_sort(reported.findings, std::less(), &Finding::id);
  std::ranges::stable_sort(reported.findings, [](const Finding& a, const Finding& b) {
    if (a.kind != b.kind) return a.kind == FindingKind::Fault;
    return weightOf(a) > weightOf(b);
  });
  return std::move(reported.findings);
}

std::vector<Finding> findFindings(const Analysis& analysis, const Simulator* simulator) {
  return findFindings(analysis, simulator, allRules());
}

}  // namespace lacuna::analyzer
