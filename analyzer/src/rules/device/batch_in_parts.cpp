// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/forward_passes.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::batch_in_parts {
namespace {

constexpr Threshold kPasses{
    "passes", 8, Unit::Times,
    "Adversarial, contrastive and multi-crop trainings run a network two to six times."};
constexpr Threshold kRows{"rows", 16, Unit::Count,
                          "A weight that is read serves each row once, and a processor does some "
                          "ten operations in the time of a read."};
constexpr Threshold kLeast{"least", 0.05, Unit::Share,
                           "Joining the passes means to rewrite the loop around them."};
constexpr std::array kThresholds{kPasses, kRows, kLeast};

constexpr Confidence kSure{
    "", 0.5, "Whether a pass needs the outputs of the one before is not in the trace."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const ForwardPasses& passes = facts.analysis.of<ForwardPasses>();
  const bool isFew = passes.inputRows > 0 && static_cast<double>(passes.inputRows) < kRows;
  if (passes.perBackward() < kPasses || !isFew) return;
  const std::int64_t cost = facts.perStep(passes.ns);
  if (facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.count = passes.alike;
  finding.costNsPerStep = cost;
  finding.words =
      "the network runs {passes} times before each backward pass, on inputs of {input}{: cost a "
      "step}";
  finding.quantities = {Quantity::number("passes", passes.perBackward()),
                        Quantity::called("input", passes.input)};
  finding.confidence = kSure;
  finding.advice =
      "give the network all these inputs in one call, if no call needs the outputs of another: "
      "each operator then starts once and reads each weight once";
  finding.evidence.push_back(
      {passes.longest.startNs, passes.longest.endNs, "the passes before a backward pass"});
  finding.notPredicted = "how much faster the device computes larger inputs is not in the trace";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::batch_in_parts

constinit const FindingRule kBatchInPartsRule{
    .id = FindingId::BatchInParts,
    .key = "batch-in-parts",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .cost = CostIs::WorkTime,
    .thresholds = rules::batch_in_parts::kThresholds,
    .confidences = rules::batch_in_parts::kConfidences,
    .meaning =
        "The network runs many times before a backward pass, each time on few rows, as a loop over "
        "samples does.",
    .when =
        "phases named `forward` before one named `backward`: {passes} or more on average whose "
        "first operators take the same shapes, the first tensor with fewer than {rows} rows; they "
        "and their backward take ≥ {least} of a step; only where shapes are recorded",
    .fix = "code; no gain: how much faster the device computes larger inputs is not in the trace",
    .refutedBy =
        "one pass over all these inputs that takes as long, or passes that need each other's "
        "outputs",
    .detect = rules::batch_in_parts::detect,
};

}  // namespace lacuna::analyzer
