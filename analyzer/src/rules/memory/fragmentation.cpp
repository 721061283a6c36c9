// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "lacuna/analyzer/memory.h"
#include "rules/memory/memories.h"

namespace lacuna::analyzer {
namespace rules::fragmentation {
namespace {

constexpr std::uint64_t kOneIn = 10;
constexpr Threshold kFree{"free", 1.0 / kOneIn, Unit::Share,
                          "An allocator that fills up has small pieces left over here and there."};
constexpr std::array kThresholds{kFree};

constexpr Confidence kSure{"", 0.8, "The allocator's pieces are recorded at that moment."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  if (!facts.analysis.of<MemoryTables>().all.present) return;
  for (const DeviceMemory& memory : facts.analysis.of<MemoryTables>().devices) {
    const AllocatorState& state = memory.allocator;
    if (!state.fragmented() || state.freeBytes() * kOneIn < state.reservedBytes) continue;
    Finding finding;
    finding.count = state.freePieces;
    finding.words =
        "the allocator took {taken} more though {free} were free: the largest piece was {largest}";
    finding.quantities = {Quantity::bytes("taken", state.requestedBytes),
                          Quantity::bytes("free", state.freeBytes()),
                          Quantity::bytes("largest", state.largestFreeBytes)};
    finding.confidence = kSure;
    finding.advice =
        "keep sizes the same from step to step (pad batches), or let segments grow "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)";
    finding.evidence.push_back(momentOf(state.atNs, "more taken from the device", memory.device));
    // The free memory in one piece would have done.
    return out.addBytes(std::move(finding), GainSum("taken though as much was free",
                                                    signedBytes(state.requestedBytes)));
  }
}

}  // namespace
}  // namespace rules::fragmentation

constinit const FindingRule kFragmentationRule{
    .id = FindingId::Fragmentation,
    .key = "fragmentation",
    .area = FindingArea::Memory,
    .kind = FindingKind::Opportunity,
    .severity = Severity::Medium,
    .thresholds = rules::fragmentation::kThresholds,
    .confidences = rules::fragmentation::kConfidences,
    .meaning =
        "The allocator had enough free memory, but in pieces too small, and took more from the "
        "device.",
    .when =
        "when an allocator last had to take more from its device than ever before, it had as much "
        "free as was asked for, but in pieces too small ([memory](memory.md)), and ≥ {free} of its "
        "memory",
    .fix = "code; bytes: the memory taken from the device though as much was free",
    .refutedBy = "segments that can grow and a peak as high",
    .detect = rules::fragmentation::detect,
};

}  // namespace lacuna::analyzer
