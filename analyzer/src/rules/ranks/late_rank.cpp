// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyses/ranks/ranks.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::late_rank {
namespace {

constexpr std::uint64_t kLastTenths = 7, kTenths = 10;
constexpr Threshold kLast{
    "last", static_cast<double>(kLastTenths) / kTenths, Unit::Share,
    "Equal ranks are last in turn; one that is last so often has a reason of its own."};
constexpr Threshold kLeast{"least", 0.03, Unit::Share,
                           "Ranks enter within some microseconds of each other at best."};
constexpr std::array kThresholds{kLast, kLeast};

constexpr Confidence kSure{
    "", 0.5, "The entries are recorded; the work behind the collective may move with them."};
constexpr std::array kConfidences{kSure};

/// So many of its latest entries are evidence enough.
constexpr std::size_t kMostEntries = 5;

void addEvidence(const RankStats& ranks, const RankRow& row, Finding& finding) {
  for (const LateEntry& late : ranks.latest) {
    if (late.rank != row.rank || finding.evidence.size() == kMostEntries) continue;
    finding.evidence.push_back({.startNs = late.fromNs,
                                .endNs = late.toNs,
                                .what = fmt::format("rank {} enters last", row.rank),
                                .device = late.device,
                                .queue = late.queue});
  }
}

void detect(const Facts& facts, Outcome& out) {
  const RankStats& ranks = facts.analysis.of<RankStats>();
  for (const RankRow& row : ranks.rows) {
    // The cost of one rank alone: by how much it held the others up.
    const std::int64_t cost = row.stepHeldUpNs / facts.analysis.stepCount();
    if (row.last * kTenths < ranks.matched * kLastTenths || facts.shareOfStep(cost) < kLeast)
      continue;
    Finding finding;
    finding.costNsPerStep = cost;
    finding.count = row.last;
    finding.words =
        "rank {rank} enters {last} of {matched} collectives last, {cost} {a step} behind";
    finding.quantities = {Quantity::number("rank", row.rank),
                          Quantity::number("last", static_cast<double>(row.last)),
                          Quantity::number("matched", static_cast<double>(ranks.matched))};
    // The replay knows no bonds between ranks. The entries themselves show what each collective
    // would gain: the others wait for the next-latest rank all the same. How the work after the
    // collective moves is not known.
    finding.confidence = kSure;
    finding.gainBasis = GainBasis::Trace;
    GainChain& chain = finding.gainChain;
    chain.gain =
        GainSum("behind the next", row.stepAloneNs).over("steps", facts.analysis.stepCount());
    chain.high = GainSum("others held up", row.stepHeldUpNs)
                     .over("steps", facts.analysis.stepCount())
                     .atLeast(kItsGain, chain.gain.value());
    finding.advice = fmt::format(
        "compare rank {} with the others: its batches, its loader, its clock speed (the gain is "
        "read off when ranks enter, as far as the next-latest one; ranks are not replayed "
        "together)",
        row.rank);
    addEvidence(ranks, row, finding);
    out.addAsItIs(std::move(finding));
  }
}

}  // namespace
}  // namespace rules::late_rank

constinit const FindingRule kLateRankRule{
    .id = FindingId::LateRank,
    .key = "late-rank",
    .area = FindingArea::Ranks,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .thresholds = rules::late_rank::kThresholds,
    .confidences = rules::late_rank::kConfidences,
    .meaning = "One rank enters the collectives last, and the others wait for it.",
    .when = "one rank enters ≥ {last} of the collectives last, costing ≥ {least}",
    .fix = "code; read off the trace: by how much it enters behind the next-latest rank",
    .refutedBy = "ranks that change places when they change machines: then it is the machine",
    .detect = rules::late_rank::detect,
};

}  // namespace lacuna::analyzer
