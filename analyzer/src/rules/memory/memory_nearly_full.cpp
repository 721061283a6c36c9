// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/amounts.h"
#include "rules/memory/memories.h"

namespace lacuna::analyzer {
namespace rules::memory_nearly_full {
namespace {

constexpr Threshold kFull{
    "full", 0.9, Unit::Share,
    "PyTorch's TensorBoard plugin warns from the same share on; a longer sample may not fit."};
constexpr std::array kThresholds{kFull};

constexpr Confidence kSure{"", 0.9, "Both the peak and the device's memory are recorded."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const FullestDevice fullest = fullestDevice(facts.analysis);
  if (!facts.analysis.of<MemoryTables>().all.present || fullest.share < kFull) return;
  Finding finding;
  finding.words = "the peak of {peak} is more than {full} % of {device}'s memory";
  finding.quantities = {Quantity::bytes("peak", fullest.peakBytes),
                        Quantity::number("full", prof::kPercent * kFull),
                        Quantity::called("device", fullest.device->label)};
  finding.confidence = kSure;
  finding.knob = "checkpoint=on";
  finding.advice =
      "recompute activations (checkpoint) or train in mixed precision before the run hits the "
      "limit";
  finding.evidence.push_back(momentOf(fullest.peakAtNs, "peak", fullest.memory));
  predictEdit(facts.analysis, finding, fullest.memory, fullest.peakBytes);
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::memory_nearly_full

constinit const FindingRule kMemoryNearlyFullRule{
    .id = FindingId::MemoryNearlyFull,
    .key = "memory-nearly-full",
    .area = FindingArea::Memory,
    .kind = FindingKind::Opportunity,
    .severity = Severity::Medium,
    .thresholds = rules::memory_nearly_full::kThresholds,
    .confidences = rules::memory_nearly_full::kConfidences,
    .meaning = "A device's memory is nearly used up at the peak.",
    .when = "a device's own peak ≥ {full} of its memory",
    .fix =
        "`checkpoint=on`; bytes: the memory that the best edit of the peak saves "
        "([memory](memory.md))",
    .refutedBy = "an allocator that was given this limit and keeps to it",
    .detect = rules::memory_nearly_full::detect,
};

}  // namespace lacuna::analyzer
