// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analyses/time/phases.h"
#include "analyses/work/launches.h"
#include "analyses/work/python_lines.h"
#include "analysis/pause_lengths.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::host_work {
namespace {

constexpr Threshold kLeast{"least", 0.15, Unit::Share, "Some host work shows in every step."};
constexpr Threshold kLong{"long", static_cast<double>(kLongPauses), Unit::Times,
                          "A call of an operator takes about as long as another one."};
constexpr Threshold kLeastPause{
    "least pause", static_cast<double>(kLeastLongPauseNs), Unit::Ns,
    "An interpreter takes tens of microseconds from one operator to the next: no fault."};
constexpr Threshold kMostPause{
    "most pause", static_cast<double>(kMostLongPauseNs), Unit::Ns,
    "No interpreter takes so long for a call, however few cores it has."};
constexpr Threshold kLeastOfLong{"least of long", 0.05, Unit::Share,
                                 "Work in one piece can be moved or left out."};
constexpr std::array kThresholds{kLeast, kLong, kLeastPause, kMostPause, kLeastOfLong};

constexpr Confidence kSure{
    "", 0.6, "The idle time is measured; whether the work can be moved is not in the trace."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::HostWork};

/// The time of a step that launch calls took beyond as many usual ones.
std::int64_t longLaunchesNs(const Facts& facts) {
  const std::int64_t usualNs = facts.analysis.of<LaunchStats>().medianCallNs;
  std::int64_t ns = 0;
  for (const CallRow& row : facts.analysis.of<CallTable>()) {
    if (row.activity == Activity::Launch)
      prof::addTo(ns,
                  row.stepNs - prof::productOf(usualNs, static_cast<std::int64_t>(row.stepCount)));
  }
  return facts.perStep(std::max<std::int64_t>(0, ns));
}

std::string adviceOn(const Facts& facts, std::int64_t longNs, bool inLaunches) {
  if (!inLaunches) return "move this work out of the loop, into loader workers, or onto the device";
  return fmt::format(
      "launch calls take {} {} longer than as many usual ones: a kernel's first launch loads its "
      "code; launch each once in front of the loop, or look at the steps behind it (--steps)",
      prof::timeText(longNs), facts.analysis.steps.all.empty() ? "in all" : "a step");
}

std::int64_t stallPhasesNs(const Analysis& analysis) {
  const RunPhases& run = analysis.of<RunPhases>();
  std::int64_t ns = 0;
  for (const std::string_view phase : kStallPhases)
    prof::addTo(ns, run.totalNs(phase, PhasePlace::InSteps));
  return run.perStep(ns);
}

/// Where the thread that calls operators executes them, the device waits for each call.
std::int64_t workNs(const Facts& facts) {
  const std::int64_t all = facts.costOf(Cause::HostWork);
  const PythonLines& lines = facts.analysis.of<PythonLines>();
  const std::int64_t counts =
      facts.worksInPlace()
          ? std::min(all, facts.analysis.of<IdleCauses>().longHostWorkNs + lines.napsNs())
          : all;
  const std::int64_t ns =
      counts - facts.asleepNs() - stallPhasesNs(facts.analysis) - lines.frameworkNs();
  return std::min(ns, lines.programsNs().value_or(ns));
}

void detect(const Facts& facts, Outcome& out) {
  const std::int64_t cost = workNs(facts);
  // Recording adds host work that is not the program's.
  std::int64_t programsNs = cost - facts.analysis.meanStepBands()[Cause::HostWork];
  programsNs =
      std::min(programsNs, facts.analysis.of<PythonLines>().programsMostNs().value_or(programsNs));
  if (facts.shareOfStep(programsNs) < (facts.worksInPlace() ? kLeastOfLong : kLeast)) return;
  // The host does not do for the program what it does in a launch call.
  const std::int64_t longNs = longLaunchesNs(facts);
  const bool inLaunches = 2 * longNs >= cost;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.words = "the device waits for host work {cost} {a step}";
  if (const CauseDetail* where = longestWait(facts, Cause::HostWork, kStallPhases)) {
    finding.words = inLaunches
                        ? "the device waits for host work {cost} {a step}, most of it in launch "
                          "calls of {where}"
                        : "the device waits for host work {cost} {a step}, most of it in {where}";
    finding.quantities = {Quantity::called("where", where->name)};
  }
  finding.confidence = kSure;
  finding.advice = adviceOn(facts, longNs, inLaunches);
  finding.evidence = facts.evidenceOf(Cause::HostWork);
  if (const auto lines = linesBehind(facts, cost, IdleTime::Running);
      !inLaunches && !lines.empty()) {
    finding.words = "the device waits for host work {cost} {a step}: {lines}";
    nameLines(facts, finding, lines);
  }
  out.addBounded(std::move(finding), "host*0");
}

}  // namespace
}  // namespace rules::host_work

constinit const FindingRule kHostWorkRule{
    .id = FindingId::HostWork,
    .key = "host-work",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .prices = rules::host_work::kPrices,
    .names = rules::host_work::kPrices,
    .skipsClaimed = true,
    .thresholds = rules::host_work::kThresholds,
    .confidences = rules::host_work::kConfidences,
    .meaning = "The device waits while the host does work of its own between launches.",
    .when =
        "other host work, without what recording may be of it, ≥ {least} of the step; where the "
        "calling thread executes operators itself, ≥ {least of long} in long pauses, which take "
        "{long} times as long as the usual one or more, and {least pause} to {most pause}; without "
        "checkpoints, garbage collections, PyTorch's own Python code as far as "
        "samples show it, and the time that the thread slept, as for `host-not-running`; no more "
        "than lines of the program took, where 100 samples or more show them, and only where fewer "
        "samples allow for as much, one standard error included; the advice changes where launch "
        "calls took half of it beyond as many usual ones: a kernel's first launch loads its code; "
        "lines of Python are named that take a tenth of it or more and that 10 samples saw",
    .fix = "code: `host*0`, an upper bound",
    .refutedBy = "a run without that work in its loop that takes as long",
    .detect = rules::host_work::detect,
};

}  // namespace lacuna::analyzer
