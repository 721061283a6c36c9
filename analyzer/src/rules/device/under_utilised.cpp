// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyses/work/graph_replays.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::under_utilised {
namespace {

constexpr Threshold kBusy{"busy", 0.5, Unit::Share,
                          "Nsight Systems names a device that is busy less as well."};
constexpr Threshold kUnknown{
    "unknown", 0.2, Unit::Share,
    "Time without a cause is no finding of its own until it is a good part of the step."};
constexpr Threshold kUnpriced{"unpriced", 0.5, Unit::Share,
                              "Where others price most of the idle time, they are the reason."};
constexpr std::array kThresholds{kBusy, kUnknown, kUnpriced};

constexpr Confidence kNamed{"the largest cause is known", 0.6,
                            "The idle time is measured, its largest cause as well."};
constexpr Confidence kUnnamed{"the largest cause is unknown", 0.5,
                              "The host may have done work that was not recorded."};
constexpr std::array kConfidences{kNamed, kUnnamed};

/// An idle cause with its time in a step that lies in no phase that a finding prices.
struct Idle {
  Cause cause = Cause::Unknown;
  std::int64_t ns = 0;
};

/// The one that takes most, of those that no finding is the reason for.
Idle largestIdle(const Facts& facts, const Ledger& step) {
  const auto idleOf = [&](Cause cause) {
    return Idle{cause, step[cause] - facts.pricedInPhasesNs(cause)};
  };
  Idle largest = idleOf(Cause::Unknown);
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const Idle idle = idleOf(static_cast<Cause>(i));
    if (!isBusy(idle.cause) && !facts.isNamed(idle.cause) && idle.ns > largest.ns) largest = idle;
  }
  return largest;
}

/// A replay without the waits of a cause; empty where there is none.
std::string_view withoutCause(Cause cause) {
  switch (cause) {
    case Cause::Synchronisation:
      return "sync=off";
    case Cause::LoaderWait:
      return "loader*0";
    case Cause::DriverCall:
      return "allocator=cached";
    case Cause::OffCpu:
      return "off-cpu*0";
    case Cause::HostWork:
      return "host*0";
    case Cause::Launch:
      return "static_graph=on";
    default:
      return {};
  }
}

void detect(const Facts& facts, Outcome& out) {
  const Ledger step = knownMeanStep(facts.analysis);
  const std::int64_t idle = step.totalNs() - step.busyNs();
  if (facts.analysis.devices.empty() || idle <= 0) return;
  const double busy = shareOf(step.busyNs(), step.totalNs());
  const std::int64_t unpriced = idle - std::min(idle, facts.pricedIdleNs());
  const bool isUnknown = shareOf(step[Cause::Unknown], step.totalNs()) >= kUnknown;
  const bool isPriced = static_cast<double>(unpriced) < kUnpriced * static_cast<double>(idle);
  if ((busy >= kBusy && !isUnknown) || isPriced) return;
  const auto [cause, causeNs] = largestIdle(facts, step);
  const bool unnamed = cause == Cause::Unknown;
  Finding finding;
  finding.costNsPerStep = unpriced;
  finding.words =
      unnamed
          ? "the device is busy {busy} of the time; most of the rest, {idle} {a step}, has no "
            "cause in the trace"
          : "the device is busy {busy} of the time; most of the rest, {idle} {a step}, is {cause}";
  finding.quantities = {Quantity::share("busy", busy), Quantity::time("idle", causeNs),
                        Quantity::called("cause", std::string(causeLabel(cause)))};
  finding.confidence = unnamed ? kUnnamed : kNamed;
  finding.advice =
      unnamed
          ? "record what the host does too: its calls and ranges (lacuna run, or the activities of "
            "the CPU in PyTorch's profiler), and name the program's phases by NVTX ranges"
          : "look at the longest of these stretches on the timeline, and at what the host did "
            "before them";
  finding.evidence = facts.evidenceOf(cause);
  if (const std::string_view change = withoutCause(cause); !change.empty())
    return out.addBounded(std::move(finding), change);
  finding.notPredicted = unnamed ? "the trace does not show why the device waits"
                                 : fmt::format("no replay does without {}", causeLabel(cause));
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::under_utilised

constinit const FindingRule kUnderUtilisedRule{
    .id = FindingId::UnderUtilised,
    .key = "under-utilised",
    .area = FindingArea::Device,
    .kind = FindingKind::Fault,
    .readsLeftovers = true,
    .thresholds = rules::under_utilised::kThresholds,
    .confidences = rules::under_utilised::kConfidences,
    .meaning =
        "The devices are idle most of the time, or for reasons that the trace does not hold, and "
        "no other finding gives the reason.",
    .when =
        "devices busy < {busy} of the step, or ≥ {unknown} of it unknown, and the other findings "
        "leave ≥ {unpriced} of the idle time unpriced; it costs that, and names the largest cause "
        "that none of them is about",
    .fix =
        "code: the replay without the cause that it names (`host*0`, `static_graph=on`, "
        "`sync=off`, `loader*0`, `allocator=cached`, `off-cpu*0`), an upper bound; none where the "
        "cause is unknown, the profiler, or another queue",
    .refutedBy = "a recording of all that the host does that shows the device at work",
    .detect = rules::under_utilised::detect,
};

}  // namespace lacuna::analyzer
