// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/launches.h"
#include "analyses/work/patterns.h"
#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::debug_mode {
namespace {

constexpr Threshold kLaunches{
    "launches", 20, Unit::Count,
    "A step of few launches, as of a captured graph, may wait once for its loss."};
constexpr Threshold kPerLaunch{"per launch", 0.5, Unit::Times,
                               "No usual program waits behind every other launch."};
constexpr Threshold kChecks{
    "checks", 8, Unit::Count,
    "Anomaly detection checks the numbers of every operator; a program of its own one or two."};
constexpr std::array kThresholds{kLaunches, kPerLaunch, kChecks};

constexpr Confidence kSure{"", 0.9,
                           "The mode is announced, or its waits stand behind nearly every launch."};
constexpr std::array kConfidences{kSure};

constexpr std::array kNames{Cause::Synchronisation};
// A debug mode is why the host cannot keep up, and why it waits.
constexpr std::array kExplains{Explained{FindingId::SyncInStep}, Explained{FindingId::SlowLaunches},
                               Explained{FindingId::LaunchBound}, Explained{FindingId::HostWork},
                               Explained{FindingId::LateStarts}};

void setTitle(Finding& finding, std::string_view mode, double checks, double waitsPerLaunch) {
  const bool isAnnounced = !isOneOf(mode, kOffWords);
  if (isAnnounced && !isOneOf(mode, kOnWords)) {
    finding.words = "a debug mode is switched on ({mode}){: cost a step}";
    finding.quantities = {Quantity::called("mode", std::string(mode))};
  } else if (isAnnounced) {
    finding.words = "a debug mode is switched on{: cost a step}";
  } else if (checks > 0) {
    finding.words =
        "{checks} times {a step} the host waits for a check whether numbers are finite{: cost a "
        "step}";
    finding.quantities = {Quantity::number("checks", checks)};
  } else {
    finding.words = "the host waits for the device {waits} times per launch{: cost a step}";
    finding.quantities = {Quantity::number("waits", waitsPerLaunch, 1)};
  }
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  const std::string_view mode = facts.knob("debug").value_or("off");
  const auto launches = static_cast<double>(analysis.of<LaunchStats>().stepLaunches);
  // A program that reads a number after each launch waits for its copies; no mode does that.
  const auto synchronised = static_cast<double>(syncCalls(analysis, false));
  const bool everyLaunch = facts.timesAStep(analysis.of<LaunchStats>().stepLaunches) >= kLaunches &&
                           synchronised >= kPerLaunch * launches;
  const double checks = facts.timesAStep(analysis.of<PatternStats>().numberChecks);
  const bool checksAll =
      checks >= kChecks && facts.timesAStep(syncCalls(analysis, true)) >= kChecks;
  if (isOneOf(mode, kOffWords) && !everyLaunch && !checksAll) return;
  const auto gain = facts.play("debug=off");
  const std::int64_t blockedNs = facts.claimedNsPerStep(Activity::Sync);
  Finding finding;
  finding.costNsPerStep = std::max(facts.unclaimedCostOf(Cause::Synchronisation),
                                   gain ? gain->gainNs() - blockedNs : 0);
  setTitle(finding, mode, checksAll ? checks : 0, synchronised / launches);
  finding.confidence = kSure;
  finding.count = syncCalls(analysis, true);
  finding.knob = "debug=off";
  finding.advice =
      "switch the debug mode off (anomaly detection, blocking launches, gradient checks), or take "
      "the synchronisation out of the loop";
  finding.evidence = facts.evidenceOf(Cause::Synchronisation);
  out.add(std::move(finding), "debug=off");
}

}  // namespace
}  // namespace rules::debug_mode

constinit const FindingRule kDebugModeRule{
    .id = FindingId::DebugMode,
    .key = "debug-mode",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .names = rules::debug_mode::kNames,
    .skipsClaimed = true,
    .explains = rules::debug_mode::kExplains,
    .thresholds = rules::debug_mode::kThresholds,
    .confidences = rules::debug_mode::kConfidences,
    .meaning =
        "A debug mode (anomaly detection, blocking launches, gradient checks) makes the host wait "
        "again and again.",
    .when =
        "{per launch} synchronisations (no copies that wait) for each launch or more, of "
        "{launches} launches a step or more; {checks} or more a step with as many launches that "
        "check whether numbers are finite; or the program announces that `debug` is on",
    .fix = "`debug=off`",
    .refutedBy = "a run with the mode off that waits as often",
    .detect = rules::debug_mode::detect,
};

}  // namespace lacuna::analyzer
