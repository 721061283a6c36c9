// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lacuna/prof/bounds.h"
#include "rules/memory/memories.h"

namespace lacuna::analyzer {
namespace rules::memory_leak {
namespace {

constexpr Threshold kLeast{"least", 0.0005, Unit::Share,
                           "At this pace the leak holds as much as the program in 2,000 steps; a "
                           "counter or a log line grows more slowly."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{
    "", 0.85, "The growth is recorded step by step; a cache that fills up looks alike at first."};
constexpr std::array kConfidences{kSure};

/// The bytes that steady steps had left behind when memory was at its peak.
GainSum leakedBytes(const Analysis& analysis, const MemoryStats& memory) {
  std::int64_t steps = 0;
  for (const Step& step : analysis.steps.steadyWithin(analysis.window))
    steps += step.endNs <= memory.peakAtNs ? 1 : 0;
  return GainSum("growth of a step", memory.leakBytesPerStep)
      .times("steady steps", steps)
      .atMost({.name = "peak", .reason = "the peak holds no more", .of = GainLimit::Of::Gain},
              signedBytes(memory.peakBytes));
}

/// A leak is compared with the memory that does not grow: of a long run, nearly all of the peak is
/// the leak itself.
std::int64_t leakOf(const Analysis& analysis, const OneMemory& one) {
  const MemoryStats& memory = one.memory;
  if (memory.leakBytesPerStep <= 0) return 0;
  const std::int64_t constant =
      signedBytes(memory.peakBytes) - leakedBytes(analysis, memory).value();
  const bool leaks =
      static_cast<double>(memory.leakBytesPerStep) >= kLeast * static_cast<double>(constant);
  return leaks ? memory.leakBytesPerStep : 0;
}

void detect(const Facts& facts, Outcome& out) {
  const auto all = memories(facts.analysis);
  const auto leak = [&](const OneMemory& one) { return leakOf(facts.analysis, one); };
  const auto most = std::ranges::max_element(all, std::less(), leak);
  if (most == all.end() || leak(*most) == 0) return;
  const MemoryStats& memory = most->memory;
  Finding finding;
  finding.words = "memory{where} grows by {growth} every step";
  finding.quantities = {
      Quantity::called("where", most->where),
      Quantity::bytes("growth", static_cast<std::uint64_t>(memory.leakBytesPerStep))};
  finding.confidence = kSure;
  finding.advice = memory.leaked.empty() ? "something keeps tensors of past steps alive; look for "
                                           "lists of losses that hold their graph"
                                         : fmt::format(
                                               "tensors of {} stay alive: keep numbers (item) "
                                               "instead of tensors, detach what is kept",
                                               originOf(memory.leaked.front()));
  for (const LiveTensor& tensor : memory.leaked) {
    if (finding.evidence.size() < kMostMemoryEvidence)
      finding.evidence.push_back(momentOf(tensor.allocatedNs, originOf(tensor), most->device));
  }
  out.addBytes(std::move(finding), leakedBytes(facts.analysis, memory));
}

}  // namespace
}  // namespace rules::memory_leak

constinit const FindingRule kMemoryLeakRule{
    .id = FindingId::MemoryLeak,
    .key = "memory-leak",
    .area = FindingArea::Memory,
    .kind = FindingKind::Fault,
    .severity = Severity::High,
    .thresholds = rules::memory_leak::kThresholds,
    .confidences = rules::memory_leak::kConfidences,
    .meaning = "Tensors of past steps stay alive, so memory grows with every step.",
    .when =
        "the memory that is alive at the end of a step grows in ≥ 80 % of the steady steps, and "
        "half of that growth or more is still there at the end; by {least} of the peak without "
        "that growth a step or more",
    .fix = "code; bytes: the memory that the steady steps up to the peak had left behind",
    .refutedBy = "a longer run whose memory stops growing",
    .detect = rules::memory_leak::detect,
};

}  // namespace lacuna::analyzer
