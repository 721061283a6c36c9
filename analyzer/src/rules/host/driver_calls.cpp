// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <vector>

#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::driver_calls {
namespace {

constexpr Threshold kLeast{"least", 0.05, Unit::Share,
                           "A few calls belong to every step; less is usual."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{
    "", 0.7, "The calls are measured; some belong to libraries that the program cannot change."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::DriverCall};

std::vector<Change> withoutUnclaimed(const Facts& facts) {
  std::vector<Change> changes;
  for (const CallRow& row : facts.analysis.of<CallTable>()) {
    if (row.activity == Activity::Driver && !facts.isClaimed(row.name))
      changes.push_back(withoutCall(row.name));
  }
  return changes;
}

void detect(const Facts& facts, Outcome& out) {
  const std::int64_t cost = facts.unclaimedCostOf(Cause::DriverCall);
  if (facts.shareOfStep(cost) < kLeast || costliestCall(facts, Activity::Driver) == nullptr) return;
  const CauseDetail* call = longestWait(facts, Cause::DriverCall);
  Finding finding;
  finding.costNsPerStep = cost;
  if (call != nullptr) finding.count = call->count;
  finding.words = "allocator and driver calls hold the device up {cost} {a step}";
  finding.confidence = kSure;
  finding.advice = fmt::format(
      "{}keep memory in the caching allocator, create handles and events before the loop",
      call == nullptr ? "" : call->name + " takes the most: ");
  finding.evidence = facts.evidenceOf(Cause::DriverCall);
  out.add(std::move(finding), withoutUnclaimed(facts));
}

}  // namespace
}  // namespace rules::driver_calls

constinit const FindingRule kDriverCallsRule{
    .id = FindingId::DriverCalls,
    .key = "driver-calls",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .prices = rules::driver_calls::kPrices,
    .names = rules::driver_calls::kPrices,
    .leavesWork = true,
    .skipsClaimed = true,
    .thresholds = rules::driver_calls::kThresholds,
    .confidences = rules::driver_calls::kConfidences,
    .meaning = "Calls of the driver that allocate memory or create handles hold the device up.",
    .when =
        "allocator and driver calls ≥ {least} of the step, without those that `allocation-churn` "
        "claims",
    .fix = "code: `call:\"NAME\"*0` for each such call that no other finding prices",
    .refutedBy = "a run that makes these calls before its loop and takes as long",
    .detect = rules::driver_calls::detect,
};

}  // namespace lacuna::analyzer
