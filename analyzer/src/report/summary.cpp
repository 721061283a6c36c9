// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "analysis/shown_steps.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "rules/facts.h"

namespace lacuna::analyzer {
namespace {

double share(const Analysis& analysis, std::int64_t ns) {
  const std::int64_t total = analysis.ledgers.run.totalNs();
  return total <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(total);
}

/// Where nearly all of what is unknown lies outside of the steps, where: it is no part of training.
std::string_view whereUnknown(const Analysis& analysis) {
  const std::int64_t unknownNs = analysis.ledgers.run[Cause::Unknown];
  const auto isNearlyAll = [&](std::int64_t ns) { return unknownNs > 0 && 20 * (unknownNs - ns) <= unknownNs; };
  if (isNearlyAll(analysis.of<UnknownPlaces>().beforeNs)) return " before the first step";
  if (isNearlyAll(analysis.of<UnknownPlaces>().behindNs)) return " behind the last step";
  std::int64_t inSteps = 0;
  for (const Ledger& step : analysis.ledgers.steps) prof::addTo(inSteps, step[Cause::Unknown]);
  const bool outside = !analysis.ledgers.steps.empty() && 20 * inSteps <= analysis.ledgers.run[Cause::Unknown];
  return outside ? " outside the steps" : "";
}

std::string worstCauses(const Analysis& analysis) {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (!isBusy(cause) && share(analysis, analysis.ledgers.run[cause]) >= 0.02) causes.push_back(cause);
  }
  std::sort(causes.begin(), causes.end(),
            [&](Cause a, Cause b) { return analysis.ledgers.run[a] > analysis.ledgers.run[b]; });
  if (causes.size() > 3) causes.resize(3);
  std::string out;
  for (const Cause cause : causes) {
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", causeLabel(cause),
                       prof::shareText(share(analysis, analysis.ledgers.run[cause])),
                       cause == Cause::Unknown ? whereUnknown(analysis) : "");
  }
  return out;
}

/// Why a trace in which nothing is found need not be of a run without faults; empty where it is.
std::string whyNotSure(const Analysis& analysis) {
  constexpr double kMostUnknown = 0.02;
  const double unknown = share(analysis, analysis.ledgers.run[Cause::Unknown]);
  if (unknown > kMostUnknown)
    return fmt::format("{} of the time{} has no cause in the trace", prof::shareText(unknown), whereUnknown(analysis));
  if (analysis.of<ProgramFacts>().droppedEvents > 0 || !analysis.store->warnings().empty())
    return "the trace does not hold all of the run";
  return {};
}

/// Where nothing is found, it says so only of a trace that would show it.
std::string nothingFound(const Analysis& analysis) {
  const std::string why = whyNotSure(analysis);
  return why.empty() ? " No fault found." : fmt::format(" No fault is named, but {}.", why);
}

/// ", one every 12.70 ms", where what lies between steps is more of that than anybody would overlook.
std::string pace(const Analysis& analysis) {
  const Steps shown = shownSteps(analysis);
  const std::span<const Step> steady = shown.steady();
  if (steady.size() < 2) return {};
  const std::int64_t everyNs =
      (steady.back().startNs - steady.front().startNs) / static_cast<std::int64_t>(steady.size() - 1);
  std::int64_t sumNs = 0;
  for (const Step& step : steady.first(steady.size() - 1)) prof::addTo(sumNs, step.durNs());
  const auto meanNs = static_cast<double>(sumNs) / static_cast<double>(steady.size() - 1);
  return static_cast<double>(everyNs) > kGaps * meanNs ? fmt::format(", one every {}", prof::timeText(everyNs))
                                                       : std::string();
}

}  // namespace

std::string verdict(const Analysis& analysis) {
  std::string text;
  if (analysis.devices.empty()) {
    text = "No device did any work in this trace, so there is no ledger; what the host did is below.";
  } else {
    const std::string causes = worstCauses(analysis);
    const char* who = analysis.devices.size() == 1 ? "The device is" : "The devices are";
    text =
        fmt::format("{} busy {} of the time{}.", who, prof::shareText(share(analysis, analysis.ledgers.run.busyNs())),
                    causes.empty() ? "" : "; idle: " + causes);
  }
  std::size_t faults = 0;
  for (const Finding& finding : analysis.of<Findings>()) faults += finding.kind == FindingKind::Fault ? 1 : 0;
  if (faults > 0) {
    text += fmt::format(" {} fault{} found; the costliest: {}.", faults, faults == 1 ? "" : "s",
                        analysis.of<Findings>().front().title);
  } else if (!analysis.devices.empty()) {
    text += nothingFound(analysis);
  }
  if (analysis.of<ProgramFacts>().droppedEvents > 0)
    text += fmt::format(" Mind that {} lost while recording.",
                        analysis.of<ProgramFacts>().droppedEvents == 1
                            ? "1 event was"
                            : prof::countText(analysis.of<ProgramFacts>().droppedEvents, "event") + " were");
  for (const std::string& warning : analysis.store->warnings()) text += " Warning: " + warning + ".";
  return text;
}

std::string noFindings(const Analysis& analysis) {
  const std::string why = whyNotSure(analysis);
  if (why.empty() && analysis.devices.empty()) return "none: of the host alone, few faults can be told";
  return why.empty() ? "none: nothing stands out" : "none is named, but " + why;
}

std::string describeRun(const Analysis& analysis) {
  std::string devices;
  for (const DeviceAccount& device : analysis.devices) {
    devices += fmt::format("{}{}", devices.empty() ? "" : ", ", device.label);
    if (analysis.devices.size() == 1 && !device.name.empty()) devices += " (" + device.name + ")";
  }
  std::string steps = "no steps";
  if (const Steps shown = shownSteps(analysis); !shown.all.empty()) {
    // A host that runs ahead of the device has short steps and long ones; only their mean means something.
    const bool uneven = 4 * shown.spreadNs() > shown.medianNs() || hostRunsAhead(analysis);
    steps = uneven ? fmt::format("{} of {} on average", prof::countText(shown.all.size(), "step"),
                                 prof::timeText(analysis.meanStepNs()))
                   : fmt::format("{} of {} (± {})", prof::countText(shown.all.size(), "step"),
                                 prof::timeText(shown.medianNs()), prof::timeText(shown.spreadNs()));
    steps += pace(analysis);
  }
  return fmt::format("{} · {} · {} · {}", analysis.store->path().filename().string(),
                     prof::timeText(analysis.window.endNs - analysis.window.startNs), steps,
                     devices.empty() ? "no device" : devices);
}

}  // namespace lacuna::analyzer
