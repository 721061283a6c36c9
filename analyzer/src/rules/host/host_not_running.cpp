// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::host_not_running {
namespace {

constexpr Threshold kLeast{"least", 0.05, Unit::Share,
                           "Interruptions by the system take some time of every step."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{
    "", 0.7, "The scheduler reports the time; the lock or file behind it is often not named."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::OffCpu};

void detect(const Facts& facts, Outcome& out) {
  const std::int64_t asleep = facts.asleepNs();
  const std::int64_t cost = facts.costOf(Cause::OffCpu) + asleep;
  if (facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.words = "the thread that feeds the device was not running {cost} {a step}";
  if (const CauseDetail* call = longestWait(facts, Cause::OffCpu)) {
    finding.count = call->count;
    finding.words =
        "the thread that feeds the device was not running {cost} {a step}, most of it in {call}";
    finding.quantities = {Quantity::called("call", call->name)};
  }
  finding.confidence = kSure;
  finding.advice =
      "look for locks, sleeps and files in the training loop, and for more runnable threads than "
      "cores (loader workers, thread pools)";
  finding.evidence =
      facts.evidenceOf(asleep > facts.costOf(Cause::OffCpu) ? Cause::HostWork : Cause::OffCpu);
  // Where samples do not show whether the thread ran, and it mostly did, they are of other work.
  const bool mostlyAsleep = facts.analysis.of<PythonLines>().statesKnown ||
                            2 * cost >= facts.costOf(Cause::OffCpu) + facts.costOf(Cause::HostWork);
  if (const auto lines = linesBehind(facts, cost, IdleTime::Asleep);
      mostlyAsleep && !lines.empty()) {
    finding.words =
        "the thread that feeds the device was not running {cost} {a step}; it was at {lines}";
    nameLines(facts, finding, lines);
  }
  if (asleep == 0) return out.addBounded(std::move(finding), "off-cpu*0");
  const double left =
      1 - static_cast<double>(asleep) / static_cast<double>(facts.costOf(Cause::HostWork));
  out.addBounded(std::move(finding), fmt::format("host*{:.3f}", std::max(0.0, left)));
}

}  // namespace
}  // namespace rules::host_not_running

constinit const FindingRule kHostNotRunningRule{
    .id = FindingId::HostNotRunning,
    .key = "host-not-running",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .prices = rules::host_not_running::kPrices,
    .names = rules::host_not_running::kPrices,
    .skipsClaimed = true,
    .thresholds = rules::host_not_running::kThresholds,
    .confidences = rules::host_not_running::kConfidences,
    .meaning = "The launching thread sleeps, waits for a lock or a file, or has no core.",
    .when =
        "the launching thread off the CPU, or in calls of the operating system, ≥ {least} of the "
        "step; also the part of the host's work in which it slept, as samples of its lines show "
        "where there are 100 or more, or its counters; lines of Python are named as for "
        "`host-work`, without samples of its state only where it slept for most of the host's work",
    .fix = "code: `off-cpu*0`, an upper bound",
    .refutedBy = "a run without the lock, sleep or file that takes as long",
    .detect = rules::host_not_running::detect,
};

}  // namespace lacuna::analyzer
