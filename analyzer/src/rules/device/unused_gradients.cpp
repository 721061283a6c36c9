// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/gradient_use.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::unused_gradients {
namespace {

constexpr Threshold kOperators{"operators", kFewUnused, Unit::Share,
                               "A value for the log now and then is none of the network's passes."};
constexpr Threshold kLeast{"least", 0.02, Unit::Share,
                           "A smaller share of a step is not worth a change of the program."};
constexpr std::array kThresholds{kOperators, kLeast};

constexpr Confidence kSure{
    "", 0.8, "No backward came back to these operators; a later one, behind the trace, may."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const GradientUse& use = facts.analysis.of<GradientUse>();
  if (use.unusedShare() < kOperators) return;
  const std::int64_t cost = facts.worksInPlace() ? facts.perStep(use.unusedNs)
                                                 : facts.perStepOfDevice(use.unusedDeviceNs);
  if (facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.count = use.unused;
  finding.costNsPerStep = cost;
  finding.words =
      "{part} of the forward operators record gradients that no backward computes, most of it "
      "{operator}{: cost a step}";
  finding.quantities = {Quantity::share("part", use.unusedShare()),
                        Quantity::called("operator", use.costliest)};
  finding.confidence = kSure;
  finding.advice =
      "where a forward runs twice, keep its outputs; put evaluation and logging under "
      "torch.no_grad(), which frees the memory of these gradients too";
  finding.evidence.push_back({use.longest.startNs, use.longest.endNs, use.costliest});
  finding.notPredicted = "which of these values the program needs is not in the trace";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::unused_gradients

constinit const FindingRule kUnusedGradientsRule{
    .id = FindingId::UnusedGradients,
    .key = "unused-gradients",
    .area = FindingArea::Device,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .thresholds = rules::unused_gradients::kThresholds,
    .confidences = rules::unused_gradients::kConfidences,
    .meaning = "Forward work records how to compute gradients, and no backward pass uses it.",
    .when =
        "of the outermost forward operators with a sequence number, {operators} or more have no "
        "backward of that number, and they, or the kernels that they launch, take ≥ {least} of a "
        "step; only where some have one",
    .fix = "code; no gain: which of these values the program needs is not in the trace",
    .refutedBy = "a backward pass of these operators behind the end of the trace",
    .detect = rules::unused_gradients::detect,
};

}  // namespace lacuna::analyzer
