// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/patterns.h"
#include "rules/device/device_work.h"
#include "rules/words.h"

namespace lacuna::analyzer {
namespace rules::optimizer_fused {
namespace {

constexpr Threshold kLaunches{
    "launches", 8, Unit::Count,
    "The same kernel so often in an optimizer is one launch for each parameter."};
constexpr Threshold kGain{"gain", 0.03, Unit::Share,
                          "Without such a kernel the replay alone proposes it."};
constexpr std::array kThresholds{kLaunches, kGain};

constexpr Confidence kCounted{"one kernel repeats", 0.9, "The launches are counted."};
constexpr Confidence kReplayed{"only the replay gains", 0.6,
                               "The optimizer's kernels differ in name."};
constexpr std::array kConfidences{kCounted, kReplayed};

void detect(const Facts& facts, Outcome& out) {
  if (facts.isOn("optimizer.fused")) return;
  const PatternStats& patterns = facts.analysis.of<PatternStats>();
  // Each of these launches updates many tensors already, whether the optimizer calls it foreach or
  // fused.
  if (patterns.optimizerKernel.find("multi_tensor") != std::string::npos) return;
  const double perStep = facts.timesAStep(patterns.optimizerLaunches);
  Finding finding;
  if (perStep >= kLaunches) {
    finding.count = patterns.optimizerLaunches;
    finding.words = "the optimizer launches {kernel} {times} {a step}";
    finding.quantities = {Quantity::called("kernel", plainName(patterns.optimizerKernel)),
                          roundedCount("times", perStep, "time")};
    finding.confidence = kCounted;
    finding.advice =
        "use the optimizer's fused or foreach (multi-tensor) form: a launch updates many "
        "parameters";
    return out.add(std::move(finding), "optimizer.fused=on");
  }
  finding.words = "the optimizer launches its updates parameter by parameter";
  finding.confidence = kReplayed;
  finding.advice = "use the optimizer's fused or foreach (multi-tensor) form";
  offer(facts, out, std::move(finding), "optimizer.fused=on", kGain);
}

}  // namespace
}  // namespace rules::optimizer_fused

constinit const FindingRule kOptimizerFusedRule{
    .id = FindingId::OptimizerFused,
    .key = "optimizer-fused",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .cost = CostIs::WorkTime,
    .thresholds = rules::optimizer_fused::kThresholds,
    .confidences = rules::optimizer_fused::kConfidences,
    .meaning = "The optimizer launches its updates parameter by parameter.",
    .when =
        "one kernel {launches} times a step or more in the optimizer, or gain ≥ {gain}; not where "
        "that is a multi-tensor kernel (`foreach` or `fused`)",
    .fix = "`optimizer.fused=on`",
    .refutedBy = "a run with the fused optimizer that takes as long",
    .detect = rules::optimizer_fused::detect,
};

}  // namespace lacuna::analyzer
