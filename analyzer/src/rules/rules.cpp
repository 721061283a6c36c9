// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <span>

#include "lacuna/prof/bounds.h"
#include "rules/rule.h"

namespace lacuna::analyzer {

std::string humanTime(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  if (std::abs(ns) < 1'000) return fmt::format("{} ns", ns);
  if (std::abs(ns) < 1'000'000) return fmt::format("{:.1f} µs", value / 1e3);
  if (std::abs(ns) < 1'000'000'000) return fmt::format("{:.2f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string humanBytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < (1u << 20)) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < (1u << 30)) return fmt::format("{:.1f} MiB", value / (1u << 20));
  return fmt::format("{:.2f} GiB", value / (1u << 30));
}

std::string humanShare(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string humanCount(std::uint64_t count, std::string_view one, std::string_view several) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, several);
}

std::string humanBand(std::int64_t bandNs, std::int64_t ns) {
  if (bandNs <= 0 || ns <= 0) return {};
  const double share = static_cast<double>(bandNs) / static_cast<double>(ns);
  if (share < 0.0005) return "±<0.1 %";
  return fmt::format("±{:.{}f} %", 100 * std::min(1.0, share), share < 0.0995 ? 1 : 0);
}

std::string plainName(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  static constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  std::string name(kernel);
  for (std::size_t at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed, at))
    name.erase(at, kUnnamed.size());
  return name.substr(0, name.find_first_of("<("));
}

std::string_view gainBasisName(GainBasis basis) {
  constexpr std::string_view kNames[]{"none", "replay", "trace", "upper_bound", "bytes"};
  return kNames[static_cast<std::size_t>(basis)];
}

namespace {

/// Of a step, what a share with one decimal shows as nothing.
constexpr double kShownAsNothing = 0.0005;
/// A reader who adds up the ledger would miss so much of a cost.
constexpr double kMissed = 1.1;

/// Whether a finding costs what it gains, and clearly more than the trace itself holds of it.
bool isPricedByItsGain(const Finding& finding) {
  const auto accounted = static_cast<double>(finding.accountedNsPerStep);
  return accounted > 0 && static_cast<double>(finding.costNsPerStep) > kMissed * accounted;
}

}  // namespace

std::string describeGain(const Finding& finding, std::string_view per) {
  if (finding.gainBasis == GainBasis::None) return "not predicted: " + finding.notPredicted;
  const std::string sure = fmt::format("confidence {:.0f} %", 100 * finding.confidence);
  if (finding.gainBasis == GainBasis::Bytes)
    return fmt::format("frees {}, {}", humanBytes(finding.predictedGainBytes), sure);
  if (finding.gainShare() < kShownAsNothing) {
    return finding.gainHighNsPerStep <= 0
               ? std::string("none is predicted, as something else bounds the run")
               : fmt::format("none is predicted, as something else bounds the run; {} {} at most",
                             humanTime(finding.gainHighNsPerStep), per);
  }
  const bool isBound = finding.gainBasis == GainBasis::UpperBound;
  std::string out = fmt::format("{}{} {} ({}{}), {}", isBound ? "up to " : "",
                                humanTime(finding.predictedGainNsPerStep), per, humanShare(finding.gainShare()),
                                finding.coversGaps ? " of " + humanTime(finding.wholeStepNs) : std::string(), sure);
  if (!isBound && finding.gainHighNsPerStep > finding.gainLowNsPerStep)
    out +=
        fmt::format(", between {} and {}", humanTime(finding.gainLowNsPerStep), humanTime(finding.gainHighNsPerStep));
  if (isPricedByItsGain(finding))
    out += fmt::format("; the step's account holds {} of it", humanTime(finding.accountedNsPerStep));
  return out;
}

double RuleContext::shareOfStep(std::int64_t nsPerStep) const {
  const std::int64_t step = analysis.meanStepNs();
  return step <= 0 ? 0 : static_cast<double>(nsPerStep) / static_cast<double>(step);
}

std::int64_t RuleContext::costOf(Cause cause) const {
  return analysis.meanStepLedger()[cause];
}

double RuleContext::claimedShare(std::string_view call) const {
  const auto found = claimed_.find(call);
  return found == claimed_.end() ? 0 : found->second;
}

std::int64_t RuleContext::unclaimedCostOf(Cause cause) const {
  std::int64_t cost = costOf(cause);
  for (const CauseDetail& call : analysis.stepCalls) {
    if (call.cause != cause) continue;
    prof::takeFrom(cost, prof::wholeOf<std::int64_t>(claimedShare(call.name) * static_cast<double>(call.ns)));
  }
  return std::max<std::int64_t>(0, cost);
}

bool RuleContext::onlyHost() const {
  return std::all_of(analysis.devices.begin(), analysis.devices.end(),
                     [](const DeviceAccount& device) { return device.kind == prof::DeviceKind::Cpu; });
}

std::optional<std::string_view> RuleContext::knob(std::string_view name) const {
  for (const auto& [key, value] : analysis.knobs) {
    if (key == name && !value.empty()) return value;
  }
  return std::nullopt;
}

std::optional<Prediction> RuleContext::play(std::string_view change) const {
  const auto parsed = parseChange(change);
  return parsed ? play(std::span<const Change>(&*parsed, 1)) : std::nullopt;
}

std::optional<Prediction> RuleContext::play(std::span<const Change> changes) const {
  if (simulator_ == nullptr || changes.empty()) return std::nullopt;
  // A replay takes its time; what is found without one by an analysis that was called off, nobody sees.
  if (const Progress& progress = analysis.options.progress; progress && !progress(0)) return std::nullopt;
  return simulator_->play(changes);
}

std::int64_t RuleContext::unchangedStepNs() const {
  return simulator_ == nullptr ? analysis.meanStepNs() : simulator_->play(std::span<const Change>()).baseNsPerStep;
}

namespace {

void replaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

/// The ledger's entries that a finding's cost is part of; none: any.
std::vector<Cause> causesOf(std::string_view id) {
  static const std::map<std::string_view, std::vector<Cause>> kCauses{
      {"loader-wait", {Cause::LoaderWait}},
      {"loader-restarts", {Cause::LoaderWait}},
      {"exposed-communication", {Cause::ExposedCommunication}},
      {"exposed-copy", {Cause::ExposedCopy}},
      {"driver-calls", {Cause::DriverCall}},
      {"allocation-churn", {Cause::DriverCall}},
      {"host-not-running", {Cause::OffCpu}},
      {"host-work", {Cause::HostWork}},
      {"launch-bound", {Cause::HostWork, Cause::Launch}},
      {"slow-launches", {Cause::HostWork, Cause::Launch}},
      {"late-starts", {Cause::Launch}},
      {"small-batch", {Cause::HostWork, Cause::Launch}},
  };
  const auto found = kCauses.find(id);
  return found == kCauses.end() ? std::vector<Cause>() : found->second;
}

std::int64_t recordingIn(const Analysis& analysis, const Finding& finding) {
  const Ledger bands = analysis.meanStepBands();
  const auto causes = causesOf(finding.id);
  std::int64_t ns = causes.empty() ? bands.totalNs() : 0;
  for (const Cause cause : causes) prof::addTo(ns, bands[cause]);
  return std::min(ns, std::max<std::int64_t>(0, finding.costNsPerStep));
}

/// For so little of a step nobody switches anything on; the next run differs by more.
constexpr double kWorthSwitching = 0.005;
/// What is wrong may be hidden behind something else that is, but not be nothing.
constexpr double kWorthMending = 0.001;

/// Whether the change of a finding only lets the host hand over sooner what the devices then do all the same.
bool leavesWorkAsItIs(std::string_view id) {
  return id == "launch-bound" || id == "slow-launches" || id == "driver-calls" || id == "allocation-churn" ||
         id == "blocking-copy" || id == "blocking-memset";
}

/// No more than that is gained, for all that is known.
void limitGain(Finding& finding, std::int64_t mostNs) {
  finding.gainLowNsPerStep = std::min(finding.gainLowNsPerStep, mostNs);
  finding.gainHighNsPerStep = std::max(finding.predictedGainNsPerStep, std::min(finding.gainHighNsPerStep, mostNs));
}

/// What mending it wins back, it costs: the ledger of the marked step may hold less than a change takes away, or
/// nothing of it. What could be switched on need not cost anything.
std::int64_t atLeastItsGain(const Finding& finding) {
  const bool isPriced = finding.kind == FindingKind::Fault || finding.costNsPerStep > 0;
  return isPriced ? std::max(finding.costNsPerStep, finding.predictedGainNsPerStep) : 0;
}

}  // namespace

Change withoutCall(std::string_view name) {
  return {.target = "call", .value = {}, .pattern = std::string(name), .whole = true, .factor = 0};
}

bool RuleContext::isWorthActing(std::int64_t nsPerStep, FindingKind kind) const {
  return shareOfStep(nsPerStep) >= (kind == FindingKind::Fault ? kWorthMending : kWorthSwitching);
}

void RuleContext::predict(Finding& finding, std::span<const Change> changes) const {
  const auto prediction = play(changes);
  if (!prediction) {
    finding.notPredicted = simulator_ == nullptr ? "the trace holds no device work with its launches to replay"
                                                 : "no change of what was recorded stands for the fix";
    return;
  }
  if (!prediction->touched) {
    finding.notPredicted = "nothing that was recorded would change";
    return;
  }
  finding.gainBasis = GainBasis::Replay;
  finding.predictedGainNsPerStep = std::max<std::int64_t>(0, prediction->gainNs());
  finding.baseNsPerStep = prediction->baseNsPerStep;
  finding.gainLowNsPerStep = std::max<std::int64_t>(0, prediction->baseNsPerStep - prediction->highNsPerStep);
  finding.gainHighNsPerStep = std::max<std::int64_t>(0, prediction->baseNsPerStep - prediction->lowNsPerStep);
  limitGain(finding, prediction->takenNsPerStep.value_or(INT64_MAX));
  if (leavesWorkAsItIs(finding.id)) {
    const std::int64_t idleNs = analysis.meanStepLedger().idleNs() + analysis.betweenSteps().ns;
    finding.predictedGainNsPerStep = std::min(finding.predictedGainNsPerStep, idleNs);
    limitGain(finding, idleNs);
  }
  // The rule may be wrong, and so may the replay.
  if (finding.predictedGainNsPerStep > 0) finding.confidence *= prediction->confidence;
}

void RuleContext::add(Finding finding, std::string_view change) {
  // Factors and switches that only the replay knows are no knobs that a user could turn.
  const bool isKnob = change.find('*') == std::string_view::npos && !change.starts_with("sync=") &&
                      !change.starts_with("allocator=") && !change.starts_with("repeats=");
  if (finding.knob.empty() && isKnob) finding.knob = change;
  const auto parsed = parseChange(change);
  add(std::move(finding), parsed ? std::span<const Change>(&*parsed, 1) : std::span<const Change>());
}

void RuleContext::add(Finding finding, std::span<const Change> changes) {
  predict(finding, changes);
  finish(std::move(finding));
}

void RuleContext::addBounded(Finding finding, std::string_view change) {
  const auto parsed = parseChange(change);
  assert(parsed);
  predict(finding, parsed ? std::span<const Change>(&*parsed, 1) : std::span<const Change>());
  if (finding.gainBasis == GainBasis::Replay) {
    finding.gainBasis = GainBasis::UpperBound;
    finding.gainLowNsPerStep = 0;
    // What the device waited for it in all; without it other waits may go too, which other findings tell of.
    if (finding.costNsPerStep > 0) {
      finding.predictedGainNsPerStep = std::min(finding.predictedGainNsPerStep, finding.costNsPerStep);
      finding.gainHighNsPerStep = std::min(finding.gainHighNsPerStep, finding.costNsPerStep);
    }
    // Anything from nothing to all of it is as likely, so half of it comes true half of the time.
    finding.confidence /= 2;
  }
  finish(std::move(finding));
}

void RuleContext::addAsItIs(Finding finding) {
  finish(std::move(finding));
}

/// What costs and gains next to nothing is none. Where neither is known, it may be anything.
bool RuleContext::isWorthTelling(const Finding& finding) const {
  const bool isPriced = finding.costNsPerStep > 0 || finding.gainBasis != GainBasis::None;
  if (!isPriced || finding.gainBasis == GainBasis::Bytes) return true;
  return isWorthActing(std::max(finding.costNsPerStep, finding.predictedGainNsPerStep), finding.kind);
}

void RuleContext::finish(Finding finding) {
  // Some rules read a gain off the trace, without a replay.
  if (finding.predictedGainNsPerStep > 0 && finding.baseNsPerStep == 0) finding.baseNsPerStep = unchangedStepNs();
  finding.wholeStepNs = std::max(analysis.meanStepNs(), finding.baseNsPerStep);
  finding.accountedNsPerStep = std::min(finding.costNsPerStep, finding.wholeStepNs);
  finding.costNsPerStep = std::min(atLeastItsGain(finding), finding.wholeStepNs);
  // The interval is that of the replayed step; no fix wins back more than what is lost.
  if (finding.costNsPerStep > 0) finding.gainHighNsPerStep = std::min(finding.gainHighNsPerStep, finding.costNsPerStep);
  finding.recordingNsPerStep = recordingIn(analysis, finding);
  const double weight = shareOfStep(std::max(finding.costNsPerStep, finding.predictedGainNsPerStep));
  if (finding.costNsPerStep > 0 || finding.predictedGainNsPerStep > 0) {
    finding.severity = weight >= 0.2 ? Severity::High : weight >= 0.05 ? Severity::Medium : Severity::Low;
  }
  if (!isWorthTelling(finding)) return;
  // A change may gain what lies between the marked steps too: no share is of less than what it is taken from.
  finding.coversGaps = !analysis.steps.all.empty() &&
                       static_cast<double>(finding.baseNsPerStep) > kGaps * static_cast<double>(analysis.meanStepNs());
  replaceAll(finding.title, "{: cost}", finding.costNsPerStep > 0 ? ": {cost} a step" : "");
  if (finding.coversGaps) {
    replaceAll(finding.title, "{share} of it",
               fmt::format("{{share}} of the {} from one step to the next", humanTime(finding.wholeStepNs)));
  }
  replaceAll(finding.title, "{cost}", humanTime(finding.costNsPerStep));
  replaceAll(finding.title, "{share}", humanShare(finding.costShare()));
  if (analysis.steps.all.empty()) replaceAll(finding.title, " a step", " in all");
  findings.push_back(std::move(finding));
}

std::vector<Evidence> RuleContext::evidenceOf(Cause cause) const {
  std::vector<Evidence> out;
  for (const DeviceSegment& segment : analysis.longest[static_cast<std::size_t>(cause)]) {
    const std::string_view name = analysis.store->text(segment.name);
    out.push_back(
        {.startNs = segment.startNs,
         .endNs = segment.endNs,
         .what = name.empty() ? std::string(causeLabel(cause)) : fmt::format("{}: {}", causeLabel(cause), name),
         .device = segment.device,
         .thread = segment.thread});
  }
  return out;
}

std::vector<Finding> findFindings(const Analysis& analysis, const Simulator* simulator) {
  RuleContext context(analysis, simulator);
  // The allocator's calls are claimed before others are priced.
  for (const auto rule : {loaderRules, memoryRules, hostRules, deviceRules, communicationRules, utilisationRules})
    rule(context);
  // What could be switched on need not cost anything: it weighs what it gains.
  const auto weight = [](const Finding& f) { return f.costNsPerStep > 0 ? f.costNsPerStep : f.predictedGainNsPerStep; };
  std::stable_sort(context.findings.begin(), context.findings.end(), [&](const Finding& a, const Finding& b) {
    if (a.kind != b.kind) return a.kind == FindingKind::Fault;
    return weight(a) > weight(b);
  });
  return std::move(context.findings);
}

}  // namespace lacuna::analyzer
