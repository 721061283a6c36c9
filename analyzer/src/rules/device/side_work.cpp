// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/python_lines.h"
#include "analyses/work/side_work.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::side_work {
namespace {

constexpr Threshold kLeast{"least", 0.05, Unit::Share,
                           "Metrics and logs take a little of most trainings."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{
    "", 0.6, "The operators are recorded; whether the program needs them is not in the trace."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const SideWork& side = facts.analysis.of<SideWork>();
  const std::int64_t cost =
      facts.worksInPlace() ? facts.perStep(side.operatorsNs) : facts.perStepOfDevice(side.deviceNs);
  if (facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.count = side.operators;
  finding.costNsPerStep = cost;
  finding.words = "operators beside the training take {cost} {a step}, most of it {operator}";
  finding.quantities = {Quantity::called("operator", side.costliest)};
  if (const auto places = facts.analysis.of<PythonLines>().beside(cost); !places.empty()) {
    finding.words = "operators beside the training take {cost} {a step}: {lines}";
    finding.quantities = {Quantity::called("lines", listOf(places))};
  }
  finding.confidence = kSure;
  finding.advice =
      "do this work every few steps, or for all tensors in one call (torch._foreach_lerp_, "
      "torch._foreach_copy_)";
  finding.evidence.push_back({side.longest.startNs, side.longest.endNs, side.costliest});
  finding.notPredicted = "whether the program needs this work in every step is not in the trace";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::side_work

constinit const FindingRule kSideWorkRule{
    .id = FindingId::SideWork,
    .key = "side-work",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .cost = CostIs::WorkTime,
    .thresholds = rules::side_work::kThresholds,
    .confidences = rules::side_work::kConfidences,
    .meaning =
        "Operators run in every step beside the training: averages of the weights, copies of the "
        "model, metrics.",
    .when =
        "operators behind a backward pass or an optimizer's step, in front of the next batch, "
        "forward or evaluation, or the kernels that they launch, take ≥ {least} of a step; not "
        "between a backward pass and the optimizer, nor where gradients are set to zero; only "
        "where these phases are marked",
    .fix = "code; no gain: whether the program needs this work in every step is not in the trace",
    .refutedBy = "a run without these operators that takes as long",
    .detect = rules::side_work::detect,
};

}  // namespace lacuna::analyzer
