// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "analyses/work/name_guesses.h"
#include "lacuna/prof/bounds.h"
#include "rules/memory/memories.h"

namespace lacuna::analyzer {
namespace rules::allocation_churn {
namespace {

constexpr Threshold kSteady{"steady", 3, Unit::Count,
                            "The first steps fill the allocator's cache."};
constexpr Threshold kPerStep{"per step", 1, Unit::Count,
                             "A cache that fits serves a steady step without the system."};
constexpr std::array kThresholds{kSteady, kPerStep};

constexpr Confidence kSure{
    "", 0.7, "Both directions are recorded; another program on the device may force them."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::DriverCall};

struct SystemCalls {
  std::uint64_t taken = 0;  ///< pieces taken from the system
  std::uint64_t both = 0;   ///< pieces taken and given back
};

/// System calls of the memory that goes to the system most often. A pool that only grows has a leak
/// to serve; churn takes and gives back.
SystemCalls systemCalls(const Analysis& analysis) {
  SystemCalls calls;
  for (const OneMemory& one : memories(analysis)) {
    calls.both =
        std::max(calls.both, std::min(one.memory.stepSegmentCalls, one.memory.stepSegmentReleases));
    calls.taken = std::max(calls.taken, one.memory.stepSegmentCalls);
  }
  return calls;
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  const std::size_t steady = analysis.steps.steadyWithin(analysis.window).size();
  if (steady < kSteady.count()) return;
  const SystemCalls pieces = systemCalls(analysis);
  const double perStep = static_cast<double>(pieces.both) / static_cast<double>(steady);
  if (perStep < kPerStep) return;
  Finding finding;
  std::vector<Change> without;
  finding.words =
      "the allocator goes to the system {times} times {a step} behind the warm-up{: cost a step}";
  finding.quantities = {Quantity::number("times", perStep, 1)};
  for (const CauseDetail& call : analysis.of<IdleCauses>().stepCalls) {
    if (call.cause != Cause::DriverCall || !goesToSystem(call.name)) continue;
    prof::addTo(finding.costNsPerStep, call.ns);
    out.claim({.call = call.name, .activity = Activity::Driver, .share = 1, .nsPerStep = call.ns});
    without.push_back(withoutCall(call.name));
  }
  finding.confidence = kSure;
  finding.count = pieces.taken;
  finding.advice =
      "sizes differ from step to step or the cache is emptied: keep shapes the same, pad batches, "
      "do not empty the cache in the loop";
  if (!without.empty()) return out.add(std::move(finding), without);
  finding.notPredicted = "no call that takes memory from the system or gives it back was recorded";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::allocation_churn

constinit const FindingRule kAllocationChurnRule{
    .id = FindingId::AllocationChurn,
    .key = "allocation-churn",
    .area = FindingArea::Memory,
    .kind = FindingKind::Fault,
    .severity = Severity::Medium,
    .prices = rules::allocation_churn::kPrices,
    .leavesWork = true,
    .claims = "the driver's calls that take memory from the system or give it back",
    .thresholds = rules::allocation_churn::kThresholds,
    .confidences = rules::allocation_churn::kConfidences,
    .meaning = "The allocator takes memory from the system and gives it back in every step.",
    .when =
        "the allocator takes memory from the system and gives some back, each at least {per step} "
        "times a step behind the warm-up, in {steady} steps or more",
    .fix = "code: `call:\"NAME\"*0` for each of those calls; none where no call was recorded",
    .refutedBy = "steps of one shape that go to the system as often",
    .detect = rules::allocation_churn::detect,
};

}  // namespace lacuna::analyzer
