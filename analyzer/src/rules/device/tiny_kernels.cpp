// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/patterns.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::tiny_kernels {
namespace {

constexpr Threshold kLaunches{
    "launches", 32, Unit::Count,
    "A loop over samples or rows of a batch repeats so often; layers of a network rarely do."};
constexpr Threshold kLeast{"least", 0.03, Unit::Share, "Rewriting a loop as one operator is work."};
constexpr std::array kThresholds{kLaunches, kLeast};

constexpr Confidence kSure{"", 0.95, "The repetition is recorded kernel by kernel."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const PatternStats& patterns = facts.analysis.of<PatternStats>();
  const std::int64_t cost = std::max(facts.perStep(patterns.repeatedHostNs),
                                     facts.perStepOfDevice(patterns.repeatedDeviceNs));
  const double launches = facts.timesAStep(patterns.repeatedLaunches);
  if (launches < kLaunches || facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.count = patterns.repeatedLaunches;
  finding.words =
      "{launches} tiny kernels {a step}: {sequence} repeat up to {repeats} times in a row, {cost} "
      "of launching";
  finding.quantities = {Quantity::number("launches", launches),
                        Quantity::called("sequence", patterns.repeatedSequence),
                        Quantity::number("repeats", static_cast<double>(patterns.mostRepeats))};
  finding.confidence = kSure;
  finding.advice = "do the loop in one operator over all samples";
  out.add(std::move(finding), "repeats=joined");
}

}  // namespace
}  // namespace rules::tiny_kernels

constinit const FindingRule kTinyKernelsRule{
    .id = FindingId::TinyKernels,
    .key = "tiny-kernels",
    .area = FindingArea::Device,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .thresholds = rules::tiny_kernels::kThresholds,
    .confidences = rules::tiny_kernels::kConfidences,
    .meaning =
        "A short sequence of kernels repeats many times in a row, as a loop over samples does.",
    .when =
        "a sequence of up to six kernels (but memory that goes back in queue order), 10 µs each at "
        "most on average, repeats 32 times in a row or more, {launches} such launches a step or "
        "more, at ≥ {least} of the step",
    .fix = "code: `repeats=joined`",
    .refutedBy = "one operator over all samples that takes as long",
    .detect = rules::tiny_kernels::detect,
};

}  // namespace lacuna::analyzer
