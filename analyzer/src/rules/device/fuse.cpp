// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "rules/device/device_work.h"

namespace lacuna::analyzer {
namespace rules::fuse {
namespace {

constexpr Threshold kPointwise{"pointwise", 0.1, Unit::Share, "Fusing changes no other kernels."};
constexpr Threshold kGain{"gain", 0.03, Unit::Share,
                          "A compiler has a price of its own, in start-up and surprises."};
constexpr std::array kThresholds{kPointwise, kGain};

constexpr Confidence kSure{
    "", 0.6, "The kernels' names show the work; which of them are a chain is not recorded."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const KernelShares shares = kernelShares(facts.analysis);
  const double pointwise = shareOf(shares.pointwise, shares.all);
  if (facts.isOn("fuse") || pointwise < kPointwise) return;
  Finding finding;
  finding.words = shares.pointwiseCount == 1
                      ? "{kernels} takes {share} of the compute time and could be fused"
                      : "{kernels} take {share} of the compute time and could be fused";
  finding.quantities = {Quantity::counted("kernels", shares.pointwiseCount, "pointwise kernel"),
                        Quantity::share("share", pointwise)};
  finding.confidence = kSure;
  finding.advice = "fuse chains of elementwise operators, so that memory is read and written once";
  offer(facts, out, std::move(finding), "fuse=on", kGain);
}

}  // namespace
}  // namespace rules::fuse

constinit const FindingRule kFuseRule{
    .id = FindingId::Fuse,
    .key = "fuse",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .thresholds = rules::fuse::kThresholds,
    .confidences = rules::fuse::kConfidences,
    .meaning = "Elementwise kernels read and write memory one after the other.",
    .when = "pointwise kernels ≥ {pointwise} of compute, gain ≥ {gain}",
    .fix = "`fuse=on`",
    .refutedBy = "a compiled run that takes as long",
    .detect = rules::fuse::detect,
};

}  // namespace lacuna::analyzer
