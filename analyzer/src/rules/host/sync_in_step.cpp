// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "analyses/work/patterns.h"
#include "lacuna/prof/bounds.h"
#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::sync_in_step {
namespace {

constexpr Threshold kLeast{"least", 0.05, Unit::Share,
                           "Below it a wait is usual and little is to be gained."};
constexpr Threshold kOne{"one", 0.9, Unit::Count,
                         "One in nearly every step; a wait now and then is no habit."};
constexpr Threshold kSeveral{
    "several", 2.5, Unit::Count,
    "Several waits in every step stop the host from running ahead, whatever they cost today."};
constexpr Threshold kHeld{"held", 0.1, Unit::Share,
                          "Several waits that hardly hold the host do no harm."};
constexpr Threshold kUsual{
    "usual", 2, Unit::Count,
    "A single wait for a loss is usual, so the host work behind it is not its fault."};
constexpr std::array kThresholds{kLeast, kOne, kSeveral, kHeld, kUsual};

constexpr Confidence kSure{"", 0.8, "The waits are measured; some of them the program may need."};
constexpr std::array kConfidences{kSure};

constexpr std::array kNames{Cause::Synchronisation};

/// The waits that no other finding prices.
struct Waits {
  std::uint64_t calls = 0;
  std::int64_t waitedNs = 0;
  std::vector<Change> without;
};

Waits unclaimedWaits(const Facts& facts) {
  Waits waits;
  for (const CallRow& row : facts.analysis.of<CallTable>()) {
    if (row.activity != Activity::Sync || facts.isClaimed(row.name)) continue;
    const bool some = facts.claimedShare(row.name) > 0;
    waits.without.push_back(withoutCall(row.name));
    if (some) waits.without.back().uptoBytes = kStagedBytes;
    waits.calls += row.stepCount - (some ? row.stepLargeCount : 0);
    prof::addTo(waits.waitedNs, row.stepNs - (some ? row.stepLargeNs : 0));
  }
  // Claimed calls wait as before.
  if (facts.claimedNsPerStep(Activity::Sync) == 0) waits.without = {*parseChange("sync=off")};
  return waits;
}

/// Without the wait other idle time would be hidden too; it has causes of its own.
std::int64_t otherCausesNs(const Facts& facts, double perStep) {
  std::int64_t others = facts.costOf(Cause::DriverCall) + facts.costOf(Cause::OffCpu) +
                        facts.costOf(Cause::LoaderWait);
  if (perStep < kUsual) prof::addTo(others, facts.costOf(Cause::HostWork));
  return others;
}

void detect(const Facts& facts, Outcome& out) {
  const CallRow* call = costliestCall(facts, Activity::Sync);
  if (call == nullptr) return;
  const Waits waits = unclaimedWaits(facts);
  const auto gain = facts.play(waits.without);
  // Those in front of memory that goes back to the system are the allocator's.
  const std::uint64_t syncs =
      waits.calls - std::min(waits.calls, facts.analysis.of<PatternStats>().releaseSyncs);
  const double perStep = facts.timesAStep(syncs);
  const std::int64_t cost = std::max(facts.unclaimedCostOf(Cause::Synchronisation),
                                     gain ? gain->gainNs() - otherCausesNs(facts, perStep) : 0);
  const double held = facts.shareOfStep(facts.perStep(waits.waitedNs));
  const bool several = perStep >= kSeveral && held >= kHeld;
  if (!several && (facts.shareOfStep(cost) < kLeast || perStep < kOne)) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.count = waits.calls;
  finding.words = cost > 0
                      ? "{syncs} synchronisations {a step} let the queue run dry ({share of it})"
                      : "the host waits for the device {syncs} times {a step}, {held} of it";
  finding.quantities = {Quantity::number("syncs", perStep, 1), Quantity::share("held", held)};
  finding.confidence = kSure;
  finding.advice =
      fmt::format("avoid {}{}: read losses and metrics every N steps, keep the rest on the device",
                  call->name, call->caller.empty() ? "" : " in " + call->caller);
  finding.evidence = facts.evidenceOf(Cause::Synchronisation);
  out.add(std::move(finding), waits.without);
}

}  // namespace
}  // namespace rules::sync_in_step

constinit const FindingRule kSyncInStepRule{
    .id = FindingId::SyncInStep,
    .key = "sync-in-step",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .names = rules::sync_in_step::kNames,
    .skipsClaimed = true,
    .thresholds = rules::sync_in_step::kThresholds,
    .confidences = rules::sync_in_step::kConfidences,
    .meaning =
        "The host waits for the device within the step, so the queue runs dry before it launches "
        "again.",
    .when =
        "≥ {one} synchronisations a step (without those directly in front of memory that goes back "
        "to the system), and waiting costs ≥ {least} (without idle time that has a cause of its "
        "own, of host work where they are fewer than {usual}); or ≥ {several} a step that hold the "
        "host ≥ {held} of it",
    .fix = "code: `sync=off`, or `call:\"NAME\"*0` for each call that no other finding prices",
    .refutedBy = "a run that reads its losses every N steps and takes as long",
    .detect = rules::sync_in_step::detect,
};

}  // namespace lacuna::analyzer
