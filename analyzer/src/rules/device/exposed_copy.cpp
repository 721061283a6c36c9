// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::exposed_copy {
namespace {

constexpr Threshold kLeast{"least", 0.1, Unit::Share,
                           "Some copies belong to every step; moving them takes work."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{"", 0.7,
                           "The copies are measured; some of them the next kernel needs at once."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::ExposedCopy};

void detect(const Facts& facts, Outcome& out) {
  const std::int64_t cost = facts.costOf(Cause::ExposedCopy);
  if (facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.words = "copies that nothing hides take {cost} {a step}";
  finding.confidence = kSure;
  finding.advice =
      "copy on a queue of its own while the step before computes, keep data on the device, join "
      "small copies";
  finding.evidence = facts.evidenceOf(Cause::ExposedCopy);
  out.addBounded(std::move(finding), "copy*0");
}

}  // namespace
}  // namespace rules::exposed_copy

constinit const FindingRule kExposedCopyRule{
    .id = FindingId::ExposedCopy,
    .key = "exposed-copy",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .prices = rules::exposed_copy::kPrices,
    .cost = CostIs::WorkTime,
    .thresholds = rules::exposed_copy::kThresholds,
    .confidences = rules::exposed_copy::kConfidences,
    .meaning = "Copies run while nothing else does.",
    .when = "exposed copies ≥ {least} of the step",
    .fix = "code: `copy*0`, an upper bound",
    .refutedBy = "a run with the copies on a queue of their own that takes as long",
    .detect = rules::exposed_copy::detect,
};

}  // namespace lacuna::analyzer
