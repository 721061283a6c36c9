// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/patterns.h"
#include "rules/device/device_work.h"

namespace lacuna::analyzer {
namespace rules::zero_grad {
namespace {

constexpr Threshold kFills{
    "fills", 4, Unit::Count,
    "One or two cleared buffers a step belong to many a program; one for each gradient does not."};
constexpr Threshold kLeast{"least", 0.02, Unit::Share,
                           "A few large fills count as much as many small ones."};
constexpr Threshold kSteps{"steps", 2, Unit::Count,
                           "A single step, or the warm-up alone, is no habit."};
constexpr std::array kThresholds{kFills, kLeast, kSteps};

constexpr Confidence kSure{"", 0.95,
                           "The fills are recorded with the range that clears gradients."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const PatternStats& patterns = facts.analysis.of<PatternStats>();
  const auto gain = facts.play("zero_grad=none");
  const double fills = facts.timesAStep(patterns.zeroFills);
  const std::int64_t cost =
      std::max(facts.perStepOfDevice(patterns.zeroFillNs), gain ? gain->gainNs() : 0);
  if (fills < kFills && facts.shareOfStep(cost) < kLeast) return;
  const Steps& steps = facts.analysis.steps;
  const std::size_t steady = steps.steadyWithin(facts.analysis.window).size();
  if (!steps.all.empty() && patterns.zeroFillSteps < std::min<std::size_t>(kSteps.count(), steady))
    return;
  if (cost <= 0) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.count = patterns.zeroFills;
  finding.words = "clearing gradients by writing zeros: {fills}, {cost} {a step}";
  finding.quantities = {roundedCount("fills", fills, "fill")};
  finding.confidence = kSure;
  finding.advice =
      "drop the gradients instead (zero_grad to none): the first accumulation then writes without "
      "reading";
  out.add(std::move(finding), "zero_grad=none");
}

}  // namespace
}  // namespace rules::zero_grad

constinit const FindingRule kZeroGradRule{
    .id = FindingId::ZeroGrad,
    .key = "zero-grad",
    .area = FindingArea::Device,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .thresholds = rules::zero_grad::kThresholds,
    .confidences = rules::zero_grad::kConfidences,
    .meaning = "Gradients are cleared by writing zeros, to which the first accumulation then adds.",
    .when =
        "{fills} or more fills a step where gradients are cleared (`zero_grad` ranges; `zero_`, "
        "`_foreach_zero_` and the runtime's `fill_` where no other operator calls them), or "
        "dropping them gains ≥ {least}; in {steps} steps behind the warm-up or more",
    .fix = "`zero_grad=none`",
    .refutedBy = "fills of buffers that are no gradients",
    .detect = rules::zero_grad::detect,
};

}  // namespace lacuna::analyzer
