// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/launches.h"
#include "lacuna/prof/bounds.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::slow_launches {
namespace {

constexpr Threshold kSlow{
    "slow", 50'000, Unit::Ns,
    "A usual launch call takes a few microseconds; HTA names calls from the same time on."};
constexpr Threshold kLeast{"least", 0.05, Unit::Share,
                           "Slow calls that cost less are hidden behind the device's work."};
constexpr std::array kThresholds{kSlow, kLeast};

constexpr Confidence kSure{"", 0.8,
                           "The calls are measured; why they are slow is not in the trace."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::HostWork, Cause::Launch};
constexpr std::array kNames{Cause::Launch};
constexpr std::array kExplains{Explained{FindingId::LaunchBound}, Explained{FindingId::HostWork},
                               Explained{FindingId::LateStarts}};

void detect(const Facts& facts, Outcome& out) {
  const LaunchStats& launches = facts.analysis.of<LaunchStats>();
  const std::int64_t calls = facts.perStep(
      prof::productOf(launches.medianCallNs, static_cast<std::int64_t>(launches.stepLaunches)));
  // A call inside of an operator is host work to the ledger.
  const std::int64_t cost =
      std::min(calls, facts.costOf(Cause::Launch) + facts.costOf(Cause::HostWork));
  if (launches.medianCallNs < kSlow.ns() || facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.count = launches.launches;
  finding.words = "half of the launch calls take {median} or more{: cost a step}";
  finding.quantities = {Quantity::time("median", launches.medianCallNs)};
  finding.confidence = kSure;
  finding.advice =
      "look for a debugger or a second profiler, other processes of the driver, and a busy host; a "
      "captured graph launches many kernels in one call";
  finding.evidence = facts.evidenceOf(Cause::Launch);
  out.add(std::move(finding), "static_graph=on");
}

}  // namespace
}  // namespace rules::slow_launches

constinit const FindingRule kSlowLaunchesRule{
    .id = FindingId::SlowLaunches,
    .key = "slow-launches",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .prices = rules::slow_launches::kPrices,
    .names = rules::slow_launches::kNames,
    .leavesWork = true,
    .explains = rules::slow_launches::kExplains,
    .thresholds = rules::slow_launches::kThresholds,
    .confidences = rules::slow_launches::kConfidences,
    .meaning =
        "Launch calls take long by themselves: a tracing tool, a virtual machine, or a driver that "
        "is held up.",
    .when = "the median launch call takes {slow} or more, and that costs ≥ {least}",
    .fix = "`static_graph=on`; find what holds the calls up",
    .refutedBy =
        "a recording without other tools, on an idle machine, whose launch calls are as slow",
    .detect = rules::slow_launches::detect,
};

}  // namespace lacuna::analyzer
