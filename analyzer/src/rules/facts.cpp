// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>

#include "analyses/disturbance/thread_share.h"
#include "analyses/work/graph_replays.h"
#include "analyses/work/launches.h"
#include "analyses/work/python_lines.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/bounds.h"
#include "rules/registry.h"

namespace lacuna::analyzer {
namespace {

/// For so little of a step nobody switches anything on; the next run differs by more.
constexpr double kWorthSwitching = 0.005;
/// A fault may be hidden behind another fault, but it costs something.
constexpr double kWorthFixing = 0.001;

}  // namespace

double leastWorthActing(FindingKind kind) {
  return kind == FindingKind::Fault ? kWorthFixing : kWorthSwitching;
}

double shareOf(std::int64_t part, std::int64_t total) {
  return total <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(total);
}

double Facts::shareOfStep(std::int64_t nsPerStep) const {
  return shareOf(nsPerStep, analysis.meanStepNs());
}

bool Facts::isWorthActing(std::int64_t nsPerStep) const {
  return shareOfStep(nsPerStep) >= leastWorthActing(rule_.kind);
}

std::int64_t Facts::costOf(Cause cause) const {
  return analysis.meanStepLedger()[cause];
}

std::int64_t Facts::pausesOf(Cause cause) const {
  return analysis.meanPauseLedger()[cause];
}

std::int64_t Facts::asleepNs() const {
  if (const auto seen = analysis.of<PythonLines>().asleepNs())
    return std::min(*seen, costOf(Cause::HostWork));
  const StepThread& thread = analysis.of<StepThread>();
  // Threads of a crowded team sleep inside of operators until the others have had a core.
  if (thread.ranShare < 0 || thread.waitedShare < 0 || threadsCrowd()) return 0;
  const double awake = std::min(1.0, thread.ranShare + thread.waitedShare);
  const std::int64_t asleep =
      prof::wholeOf<std::int64_t>((1 - awake) * static_cast<double>(analysis.meanStepNs()));
  // It may sleep while it waits, and while a device works that is not its own.
  std::int64_t elsewhere =
      costOf(Cause::LoaderWait) + costOf(Cause::Synchronisation) + costOf(Cause::OffCpu);
  const Ledger step = analysis.meanStepLedger();
  const std::int64_t mayWorkNs = step.totalNs() - knownMeanStep(analysis).idleNs();
  if (!worksInPlace()) prof::addTo(elsewhere, mayWorkNs);
  return std::clamp<std::int64_t>(asleep - elsewhere, 0, costOf(Cause::HostWork));
}

bool Facts::threadsCrowd() const {
  const std::uint32_t cores = analysis.of<ProgramFacts>().hostCores;
  return cores > 0 && analysis.of<StepThread>().wantedCores > cores;
}

bool Facts::worksInPlace() const {
  const LaunchStats& launches = analysis.of<LaunchStats>();
  return launches.launches > 0 && launches.inPlace >= launches.launches - launches.inPlace;
}

bool Facts::onlyHost() const {
  return std::all_of(
      analysis.devices.begin(), analysis.devices.end(),
      [](const DeviceAccount& device) { return device.kind == prof::DeviceKind::Cpu; });
}

std::optional<std::string_view> Facts::knob(std::string_view name) const {
  for (const auto& [key, value] : analysis.of<ProgramFacts>().knobs) {
    if (key == name && !value.empty()) return value;
  }
  return std::nullopt;
}

std::optional<Prediction> Facts::play(std::string_view change) const {
  const auto parsed = parseChange(change);
  return parsed ? play(std::span<const Change>(&*parsed, 1)) : std::nullopt;
}

std::optional<Prediction> Facts::play(std::span<const Change> changes) const {
  if (simulator_ == nullptr || changes.empty()) return std::nullopt;
  // A replay takes its time, and nobody sees the findings of an analysis that was called off.
  if (const Progress& progress = analysis.options.progress; progress && !progress(0))
    return std::nullopt;
  return simulator_->play(changes);
}

std::int64_t Facts::unchangedStepNs() const {
  return simulator_ == nullptr ? analysis.meanStepNs()
                               : simulator_->play(std::span<const Change>()).baseNsPerStep;
}

std::vector<Evidence> Facts::evidenceOf(Cause cause) const {
  std::vector<Evidence> out;
  for (const DeviceSegment& segment :
       analysis.of<IdleCauses>().longest[static_cast<std::size_t>(cause)]) {
    const std::string_view name = analysis.store->text(segment.name);
    out.push_back({.startNs = segment.startNs,
                   .endNs = segment.endNs,
                   .what = name.empty() ? std::string(causeLabel(cause))
                                        : fmt::format("{}: {}", causeLabel(cause), name),
                   .device = segment.device,
                   .thread = segment.thread});
  }
  return out;
}

double Facts::claimedShare(std::string_view call) const {
  assert(rule_.skipsClaimed);
  const auto found = std::ranges::find(reported_.claims, call, &Claim::call);
  return found == reported_.claims.end() ? 0 : found->share;
}

std::int64_t Facts::unclaimedCostOf(Cause cause) const {
  std::int64_t cost = costOf(cause);
  for (const CauseDetail& call : analysis.of<IdleCauses>().stepCalls) {
    if (call.cause != cause) continue;
    prof::takeFrom(
        cost, prof::wholeOf<std::int64_t>(claimedShare(call.name) * static_cast<double>(call.ns)));
  }
  return std::max<std::int64_t>(0, cost);
}

std::int64_t Facts::claimedNsPerStep(Activity activity) const {
  assert(rule_.skipsClaimed);
  std::int64_t ns = 0;
  for (const Claim& claim : reported_.claims) {
    if (claim.activity == activity) prof::addTo(ns, claim.nsPerStep);
  }
  return ns;
}

/// The time of these causes that no finding prices.
std::int64_t Facts::leftoverOf(std::span<const Cause> causes) const {
  std::int64_t ns = 0;
  for (const Cause cause : causes) prof::addTo(ns, costOf(cause));
  for (const Finding& finding : reported_.findings) {
    const auto prices = ruleOf(finding.id).prices;
    if (std::ranges::find_first_of(prices, causes) != prices.end())
      prof::takeFrom(ns, finding.costNsPerStep);
  }
  return std::max<std::int64_t>(0, ns);
}

std::int64_t Facts::pricedIdleNs() const {
  assert(rule_.readsLeftovers);
  std::int64_t ns = 0;
  for (const Finding& finding : reported_.findings) {
    const FindingRule& rule = ruleOf(finding.id);
    if (rule.cost == CostIs::IdleTime)
      prof::addTo(ns, finding.costNsPerStep - finding.pausesNsPerStep);
    if (rule.takesLeftover)
      prof::addTo(ns, std::min(finding.predictedGainNsPerStep, leftoverOf(rule.prices)));
  }
  for (std::size_t i = 0; i < kCauseCount; ++i)
    prof::addTo(ns, pricedInPhasesNs(static_cast<Cause>(i)));
  return ns;
}

std::int64_t Facts::pricedInPhasesNs(Cause cause) const {
  assert(rule_.readsLeftovers);
  std::int64_t ns = 0;
  for (const CauseDetail& wait : analysis.of<IdleCauses>().stepPhases) {
    const bool isPriced = std::ranges::any_of(reported_.findings, [&](const Finding& finding) {
      const auto phases = ruleOf(finding.id).phases;
      return std::ranges::find(phases, wait.name) != phases.end();
    });
    if (wait.cause == cause && isPriced) prof::addTo(ns, wait.ns);
  }
  return ns;
}

bool Facts::isNamed(Cause cause) const {
  assert(rule_.readsLeftovers);
  return std::ranges::any_of(reported_.findings, [&](const Finding& finding) {
    const auto names = ruleOf(finding.id).names;
    return std::ranges::find(names, cause) != names.end();
  });
}

Change withoutCall(std::string_view name) {
  return {.target = "call", .value = {}, .pattern = std::string(name), .exact = true, .factor = 0};
}

FullestDevice fullestDevice(const Analysis& analysis) {
  std::map<prof::DeviceId, const DeviceAccount*> accounts;
  for (const DeviceAccount& device : analysis.devices) accounts.emplace(device.id, &device);
  // A trace of one device need not name the owner of its only memory.
  const bool isOnly =
      analysis.devices.size() == 1 && analysis.of<MemoryTables>().devices.size() == 1;
  FullestDevice fullest;
  for (const DeviceMemory& memory : analysis.of<MemoryTables>().devices) {
    const auto found = accounts.find(memory.device);
    const DeviceAccount* device = isOnly                    ? analysis.devices.data()
                                  : found == accounts.end() ? nullptr
                                                            : found->second;
    if (device == nullptr || device->memoryBytes == 0) continue;
    const double share =
        static_cast<double>(memory.peakBytes) / static_cast<double>(device->memoryBytes);
    if (share > fullest.share)
      fullest = {device, share, memory.peakBytes, memory.peakAtNs, memory.device};
  }
  return fullest;
}

bool hostRunsAhead(const Analysis& analysis) {
  const auto parts = static_cast<double>(analysis.stepCount() * analysis.processCount());
  const double perStep = static_cast<double>(analysis.of<LaunchStats>().stepLaunches) / parts;
  return !analysis.steps.all.empty() && perStep > 0 &&
         analysis.of<LaunchStats>().meanQueueDepth >= perStep;
}

}  // namespace lacuna::analyzer
