// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/host_phases.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyses/memory/gradient_clearing.h"
#include "analyses/work/anomaly_work.h"
#include "analyses/work/name_guesses.h"
#include "analyses/work/patterns.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::TimeNs;
using prof::TimeWindow;

std::optional<AvoidableWork> avoidableWorkOf(std::string_view range) {
  if (replicatesModel(range)) return AvoidableWork::Replicates;
  if (communicatesThroughHost(range)) return AvoidableWork::ThroughHost;
  return std::nullopt;
}

enum class Phase : std::uint8_t { None, Optimizer, Accumulation, Backward, Addition };

Phase phaseOf(std::string_view name) {
  if (clearsGradients(name)) return Phase::None;
  if (belongsToOptimizer(name)) return Phase::Optimizer;
  if (accumulatesGradient(name)) return Phase::Accumulation;
  if (name == "backward") return Phase::Backward;
  return name == "add_" ? Phase::Addition : Phase::None;
}

/// The time to keep one stack, 0 where it is not known, if the program announced that it detects
/// anomalies.
std::optional<std::int64_t> anomalyStackNs(const Analysis& analysis) {
  bool detects = false;
  std::int64_t ns = 0;
  for (const auto& [name, value] : analysis.of<ProgramFacts>().knobs) {
    if (name == kDebugKnob) detects = value == "anomaly detection";
    if (name == kStackKnob) std::from_chars(value.data(), value.data() + value.size(), ns);
  }
  return detects ? std::optional(std::max<std::int64_t>(0, ns)) : std::nullopt;
}

}  // namespace

void HostPhases::collect(const Analysis& analysis, const Timeline& timeline, TimeWindow window,
                         const LaunchIndex& launches, prof::ProcessId process) {
  collectWork(analysis, timeline, launches, process);
  collectSteps(analysis);
  collectAvoidableWork(analysis, timeline, window, launches);
}

void HostPhases::collectWork(const Analysis& analysis, const Timeline& timeline,
                             const LaunchIndex& launches, prof::ProcessId process) {
  for (const HostSpan* span : gradientClearing(*analysis.store, timeline))
    zeroGrad_.add({span->startNs, span->endNs});
  std::unordered_map<prof::StringId, Phase> phases;
  IntervalSet backward;
  std::vector<TimeWindow> additions;
  for (const HostSpan& span : timeline.host) {
    const bool counts =
        launches.isLaunching(span.thread) && launches.processOf(span.thread) == process;
    if (span.activity == Activity::Driver && launches.isLaunching(span.thread)) {
      driver_.add({span.startNs, span.endNs});
      driverCalls_[span.name].add({span.startNs, span.endNs});
    }
    if (counts && (span.activity == Activity::Driver || span.activity == Activity::OffCpu))
      driverOrAsleep_.add({span.startNs, span.endNs});
    if (span.activity != Activity::Annotation && span.activity != Activity::Operator) continue;
    const auto [phase, isNew] = phases.try_emplace(span.name, Phase::None);
    if (isNew) phase->second = phaseOf(analysis.store->text(span.name));
    const TimeWindow interval{span.startNs, span.endNs};
    switch (phase->second) {
      case Phase::None:
        break;
      case Phase::Optimizer:
        optimizer_.add(interval);
        break;
      case Phase::Accumulation:
        accumulation_.add(interval);
        break;
      case Phase::Backward:
        backward.add(interval);
        break;
      case Phase::Addition:
        additions.push_back(interval);
        break;
    }
  }
  backward.join();
  // In place, and in the backward pass: the runtime's way to accumulate.
  for (const TimeWindow& addition : additions) {
    if (backward.covers(addition.startNs)) accumulation_.add(addition);
  }
  accumulation_.join();
  optimizer_.join();
  zeroGrad_.join();
  driver_.join();
  driverOrAsleep_.join();
  for (auto& [name, spans] : driverCalls_) spans.join();
}

void HostPhases::collectSteps(const Analysis& analysis) {
  if (analysis.steps.source != StepSource::Marker) return;
  for (const Step& step : analysis.steps.all) marked_.add({step.startNs, step.markEndNs});
  marked_.join();
}

void HostPhases::collectAvoidableWork(const Analysis& analysis, const Timeline& timeline,
                                      TimeWindow window, const LaunchIndex& launches) {
  const Store& store = *analysis.store;
  std::unordered_map<StringId, std::optional<AvoidableWork>> kinds;
  for (const HostSpan& span : timeline.host) {
    if (span.activity != Activity::Annotation && span.activity != Activity::Operator) continue;
    if (!launches.isLaunching(span.thread)) continue;
    const auto [kind, isNew] = kinds.try_emplace(span.name);
    if (isNew) kind->second = avoidableWorkOf(store.text(span.name));
    if (kind->second)
      avoidable_[static_cast<std::size_t>(*kind->second)].add({span.startNs, span.endNs});
  }
  if (analysis.of<OperatorPatterns>().roundTrips > 0) {
    std::vector<TimeWindow> conversions;
    if (!operatorPatterns(store, window, analysis.scope, &conversions)) conversions.clear();
    for (const TimeWindow& one : conversions)
      avoidable_[static_cast<std::size_t>(AvoidableWork::ConvertsBack)].add(one);
  }
  if (const auto stackNs = anomalyStackNs(analysis)) {
    auto& debugs = avoidable_[static_cast<std::size_t>(AvoidableWork::Debugs)];
    if (!addAnomalyWork(store, window, analysis.scope.only, *stackNs, debugs)) debugs = {};
  }
  for (auto& spans : avoidable_) spans.join();
}

void HostPhases::mark(HostItem& item, TimeNs startNs) const {
  for (std::size_t kind = 0; kind < kAvoidableKinds; ++kind) {
    // A debug mode adds to an operator, which stays.
    if (kind != static_cast<std::size_t>(AvoidableWork::Debugs) && avoidable_[kind].covers(startNs))
      item.avoidable |= static_cast<std::uint8_t>(1u << kind);
  }
  item.inOptimizer = optimizer_.covers(startNs);
  item.inZeroGrad = zeroGrad_.covers(startNs);
  item.accumulates = item.kind == HostItemKind::Launch && accumulation_.covers(startNs);
}

void HostPhases::fillWork(DeviceNode& node, TimeWindow work) const {
  for (std::size_t i = 0; i < kAvoidableKinds; ++i)
    node.avoidableNs[i] = avoidable_[i].coveredNs(work);
}

void HostPhases::fillGap(Simulator::Model& model, HostItem& item, TimeWindow gap,
                         const Store& store) const {
  item.driverNs = driver_.coveredNs(gap);
  item.offCpuNs = std::max<std::int64_t>(0, driverOrAsleep_.coveredNs(gap) - item.driverNs);
  for (std::size_t i = 0; i < kAvoidableKinds; ++i)
    item.avoidableNs[i] = avoidable_[i].coveredNs(gap);
  if (!marked_.empty()) item.betweenNs = item.gapNs - marked_.coveredNs(gap);
  if (item.driverNs == 0) return;
  for (const auto& [name, spans] : driverCalls_) {
    const std::int64_t ns = spans.coveredNs(gap);
    if (ns == 0) continue;
    model.driverParts.push_back({.item = model.items.size(), .call = name, .ns = ns});
    if (const auto [call, isNew] = model.callNames.try_emplace(name); isNew)
      call->second = store.text(name);
  }
}

}  // namespace lacuna::analyzer
