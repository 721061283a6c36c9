// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lacuna/analyzer/text.h"
#include "rules/memory/memories.h"

namespace lacuna::analyzer {
namespace rules::out_of_memory {
namespace {

constexpr Confidence kSure{"", 1, "The program's own error is in the trace."};
constexpr std::array kConfidences{kSure};

const OneMemory& highest(const std::vector<OneMemory>& all) {
  return *std::ranges::max_element(all, std::less(),
                                   [](const OneMemory& one) { return one.memory.peakBytes; });
}

void detect(const Facts& facts, Outcome& out) {
  const Store& store = *facts.analysis.store;
  Finding finding;
  std::string first;
  for (std::uint64_t i = 0; i < store.rows<prof::LogLine>(); ++i) {
    const auto line = store.row<prof::LogLine>(i);
    if (line.level != prof::LogLevel::Error ||
        !containsAnyCase(store.text(line.text), "out of memory"))
      continue;
    if (first.empty()) first = store.text(line.text);
    ++finding.count;
    if (finding.evidence.size() < kMostMemoryEvidence)
      finding.evidence.push_back(momentOf(line.timeNs, std::string(store.text(line.text)), {}));
  }
  if (finding.count == 0) return;
  finding.words = finding.count == 1 ? "{first}" : "{first} (the first of {count})";
  finding.quantities = {Quantity::called("first", first),
                        Quantity::number("count", static_cast<double>(finding.count))};
  finding.confidence = kSure;
  finding.advice =
      "compare what was wanted with what is alive at the peak (--section memory): a smaller batch, "
      "mixed precision, or recomputed activations (checkpoint) need less";
  const auto all = memories(facts.analysis);
  if (all.empty()) {
    finding.notPredicted = "the trace holds no allocations";
  } else {
    predictEdit(facts.analysis, finding, highest(all).device, highest(all).memory.peakBytes);
  }
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::out_of_memory

constinit const FindingRule kOutOfMemoryRule{
    .id = FindingId::OutOfMemory,
    .key = "out-of-memory",
    .area = FindingArea::Memory,
    .kind = FindingKind::Fault,
    .severity = Severity::High,
    .confidences = rules::out_of_memory::kConfidences,
    .meaning = "The program asked for memory that its device did not have.",
    .when =
        "an error in the trace's log contains 'out of memory' (snapshots of PyTorch's allocator "
        "record it)",
    .fix = "code; bytes: as `memory-nearly-full`, of the memory with the highest peak",
    .refutedBy = "an error of another program in the same log",
    .detect = rules::out_of_memory::detect,
};

}  // namespace lacuna::analyzer
