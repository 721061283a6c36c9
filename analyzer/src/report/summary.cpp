// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "analyses/time/phases.h"
#include "analyses/work/graph_replays.h"
#include "analyses/work/python_lines.h"
#include "analysis/shown_steps.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/phrases.h"
#include "rules/facts.h"

namespace lacuna::analyzer {
namespace {

/// A smaller share is not worth a word in the summary.
constexpr double kLeastShare = 0.02;
/// Set-up takes most of a short run, and nothing of a long one.
constexpr double kMuchSetUp = 0.1;

/// The verdict is about steps where there are any: what comes before and after them happens once.
Ledger judged(const Analysis& analysis) {
  return analysis.steps.all.empty() ? analysis.ledgers.run : analysis.meanStepLedger();
}

double shareOf(const Ledger& ledger, std::int64_t ns) {
  return ratio(static_cast<double>(ns), static_cast<double>(ledger.totalNs()));
}

/// `idle`: the ledger without the time in which missing work may have run.
std::string worstCauses(const Ledger& ledger, const Ledger& idle) {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (!isBusy(cause) && shareOf(ledger, idle[cause]) >= kLeastShare) causes.push_back(cause);
  }
  std::sort(causes.begin(), causes.end(), [&](Cause a, Cause b) { return idle[a] > idle[b]; });
  if (causes.size() > 3) causes.resize(3);
  std::string out;
  for (const Cause cause : causes) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", causeLabel(cause),
                       prof::shareText(shareOf(ledger, idle[cause])));
  }
  return out;
}

/// " In a step the device is busy 60 %; idle: host work 40 %."
std::string deviceTime(const Analysis& analysis) {
  const Ledger ledger = judged(analysis);
  Ledger known = ledger;
  if (analysis.steps.all.empty()) {
    known.add(Cause::Unknown, -analysis.of<GraphReplays>().unknownOfRun[Cause::Unknown]);
  } else {
    known = knownMeanStep(analysis);
  }
  const std::string causes = worstCauses(ledger, known);
  const bool isOne = analysis.devices.size() == 1;
  const std::string busy = prof::shareText(shareOf(ledger, ledger.busyNs()));
  const std::string idle = causes.empty() ? "" : "; idle: " + causes;
  if (analysis.steps.all.empty())
    return fmt::format("{} busy {} of the time{}.", isOne ? "The device is" : "The devices are",
                       busy, idle);
  return fmt::format("In a step {} busy {} of the time{}.",
                     isOne ? "the device is" : "the devices are", busy, idle);
}

/// ": torch 62.0 %, train.py 20.1 %", the parts that took most of the set-up, by samples of it.
std::string setUpParts(const std::vector<SetUpPart>& parts) {
  constexpr std::size_t kNamed = 3;
  std::int64_t allNs = 0;
  for (const SetUpPart& part : parts) prof::addTo(allNs, part.ns);
  std::string out;
  for (std::size_t i = 0; i < parts.size() && i < kNamed; ++i) {
    const double share = ratio(static_cast<double>(parts[i].ns), static_cast<double>(allNs));
    if (share < kLeastOfWait || parts[i].samples < kLeastLineSamples) break;
    out += fmt::format("{}{} {}", out.empty() ? ": " : ", ", parts[i].name, prof::shareText(share));
  }
  return out;
}

/// The pauses between steps, and a long set-up.
std::string aroundSteps(const Analysis& analysis) {
  const RunPhases& run = analysis.of<RunPhases>();
  std::string pauses, setUp;
  for (const PhaseUse& use : run.uses) {
    const double ofTraining =
        ratio(static_cast<double>(use.totalNs), static_cast<double>(run.trainingNs));
    if (use.place == PhasePlace::BetweenSteps && ofTraining >= kLeastShare) {
      pauses +=
          fmt::format("{}{} {}", pauses.empty() ? "" : ", ",
                      use.name.empty() ? "unnamed pauses" : use.name, prof::shareText(ofTraining));
    }
    const auto windowNs = static_cast<double>(analysis.window.endNs - analysis.window.startNs);
    const double ofRun = ratio(static_cast<double>(use.totalNs), windowNs);
    if (use.place == PhasePlace::BeforeSteps && ofRun >= kMuchSetUp)
      setUp = fmt::format(" Set-up took {} ({} of the run){}.", prof::timeText(use.totalNs),
                          prof::shareText(ofRun), setUpParts(analysis.of<PythonLines>().setUp));
  }
  if (!pauses.empty()) pauses = fmt::format(" Between steps: {} of the time of training.", pauses);
  return pauses + setUp;
}

/// Why a trace in which nothing is found need not be of a run without faults; empty where it is.
std::string whyNotSure(const Analysis& analysis) {
  constexpr double kMostUnknown = 0.02;
  if (analysis.of<GraphReplays>().underRecorded() > 0)
    return "the trace lacks work of graph replays";
  const Ledger ledger = judged(analysis);
  const double unknown = shareOf(ledger, ledger[Cause::Unknown]);
  if (unknown > kMostUnknown)
    return fmt::format("{} of {} has no cause in the trace", prof::shareText(unknown),
                       analysis.steps.all.empty() ? "the time" : "a step");
  if (analysis.of<ProgramFacts>().droppedEvents > 0 || !analysis.store->warnings().empty())
    return "the trace does not hold all of the run";
  return {};
}

/// Where nothing is found, the text claims so only of a trace that would show it.
std::string nothingFound(const Analysis& analysis) {
  const std::string why = whyNotSure(analysis);
  return why.empty() ? " No fault found." : fmt::format(" No fault is named, but {}.", why);
}

/// ", one every 12.70 ms", where what lies between steps is more of that than anybody would
/// overlook.
std::string pace(const Analysis& analysis) {
  const Steps shown = shownSteps(analysis);
  const std::span<const Step> steady = shown.afterWarmUp();
  if (steady.size() < 2) return {};
  const std::int64_t everyNs = (steady.back().startNs - steady.front().startNs) /
                               static_cast<std::int64_t>(steady.size() - 1);
  std::int64_t sumNs = 0;
  for (const Step& step : steady.first(steady.size() - 1)) prof::addTo(sumNs, step.durNs());
  const auto meanNs = static_cast<double>(sumNs) / static_cast<double>(steady.size() - 1);
  return static_cast<double>(everyNs) > kGaps * meanNs
             ? fmt::format(", one every {}", prof::timeText(everyNs))
             : std::string();
}

}  // namespace

std::string verdict(const Analysis& analysis) {
  std::string text = lackingReplays(analysis);
  if (!text.empty()) text += ' ';
  if (analysis.devices.empty()) {
    text +=
        "No device did any work in this trace, so there is no ledger; what the host did is below.";
  } else {
    text += deviceTime(analysis);
  }
  text += aroundSteps(analysis);
  std::size_t faults = 0;
  for (const Finding& finding : analysis.of<Findings>())
    faults += finding.kind == FindingKind::Fault ? 1 : 0;
  if (faults > 0) {
    text += fmt::format(" {} fault{} found; the costliest: {}.", faults, faults == 1 ? "" : "s",
                        analysis.of<Findings>().front().title);
  } else if (!analysis.devices.empty()) {
    text += nothingFound(analysis);
  }
  if (analysis.of<ProgramFacts>().droppedEvents > 0)
    text += fmt::format(
        " Mind that {} lost while recording.",
        analysis.of<ProgramFacts>().droppedEvents == 1
            ? "1 event was"
            : prof::countText(analysis.of<ProgramFacts>().droppedEvents, "event") + " were");
  for (const std::string& warning : analysis.store->warnings())
    text += " Warning: " + warning + ".";
  return text;
}

std::string noFindings(const Analysis& analysis) {
  const std::string why = whyNotSure(analysis);
  if (why.empty() && analysis.devices.empty())
    return "none (host activity alone reveals few faults)";
  return why.empty() ? "none: nothing stands out" : "none is named, but " + why;
}

std::string describeSteps(const Analysis& analysis) {
  const Steps shown = shownSteps(analysis);
  if (shown.all.empty()) return "no steps";
  const auto plain = static_cast<std::size_t>(std::ranges::count_if(shown.all, &Step::isPlain));
  std::string count = prof::countText(shown.all.size(), "step");
  if (plain > 0) count += fmt::format(" ({} in detail)", shown.all.size() - plain);
  // A host that runs ahead of the device has short steps and long ones; only their mean means
  // something.
  const bool uneven = 4 * shown.spreadNs() > shown.medianNs() || hostRunsAhead(analysis);
  const std::string each = uneven
                               ? fmt::format("{} on average", prof::timeText(analysis.meanStepNs()))
                               : fmt::format("{} (± {})", prof::timeText(analysis.meanStepNs()),
                                             prof::timeText(shown.spreadNs()));
  return fmt::format("{} of {}{}", count, each, pace(analysis));
}

std::string describeRun(const Analysis& analysis) {
  std::string devices;
  for (const DeviceAccount& device : analysis.devices) {
    devices += fmt::format("{}{}", devices.empty() ? "" : ", ", device.label);
    if (analysis.devices.size() == 1 && !device.name.empty()) devices += " (" + device.name + ")";
  }
  return fmt::format("{} · {} · {} · {}", analysis.store->path().filename().string(),
                     prof::timeText(analysis.window.endNs - analysis.window.startNs),
                     describeSteps(analysis), devices.empty() ? "no device" : devices);
}

}  // namespace lacuna::analyzer
