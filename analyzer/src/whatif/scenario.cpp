// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/scenario.h"

#include <algorithm>

#include "lacuna/prof/bounds.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"
#include "whatif/replay.h"

namespace lacuna::analyzer {
namespace {

/// Shorter waits leave a CPU as it was: 5 to 23 % slower was measured after 10 ms.
constexpr double kSleepNs = 1e6;
std::int64_t perStep(double ns, const Simulator::Model& model) {
  return prof::wholeOf<std::int64_t>(ns / static_cast<double>(model.steps));
}

/// The share of the recorded time in which the device was idle, and how much of it goes.
struct Idle {
  double before = 0;
  double goes = 0;
};

Idle idleOf(const Scenario& scenario, std::int64_t measuredNs) {
  const Simulator::Model& base = *scenario.base;
  const auto share = [&](const std::vector<DeviceNode>& nodes, std::int64_t stepNs) {
    double busy = 0;
    for (const DeviceNode& node : nodes) busy += static_cast<double>(node.durNs);
    const double step =
        std::max(1.0, static_cast<double>(stepNs) * static_cast<double>(base.steps));
    return std::clamp(1 - busy / step, 0.0, 1.0);
  };
  const double before = share(base.nodes, measuredNs);
  if (before * static_cast<double>(measuredNs) < kSleepNs) return {};
  const double after = share(scenario.nodes, replay(scenario));
  return {.before = before, .goes = std::clamp(before - after, 0.0, before)};
}

/// A CPU that was left waiting computes slower when its work comes: it was asleep, and its caches
/// hold other things. Measured: 5 to 23 % after 10 ms. As far as a change takes the waiting away,
/// work takes as long as its like in the quickest steps.
void warmUp(Scenario& scenario, GainLimits& limits) {
  const Simulator::Model& base = *scenario.base;
  const double cpuShare = scenario.loader.cpuShare;
  if (!scenario.pipelined || base.queueCores == 0 || cpuShare < 0 || cpuShare > kComputingLoader)
    return;
  const std::int64_t measuredNs = base.measured.typicalNs();
  const Idle idle = idleOf(scenario, measuredNs);
  if (idle.before <= 0) return;
  double warmer = idle.goes / idle.before;
  double gained = 0;
  for (const DeviceNode& node : scenario.nodes)
    gained += static_cast<double>(node.durNs) * warmer * (1 - node.warmShare);
  // A wait costs more than its cooling. Where more would be gained, the steps differ for other
  // reasons.
  const double most = idle.goes * static_cast<double>(measuredNs) * static_cast<double>(base.steps);
  limits.atMost(
      {.name = "warming",
       .reason = "work on a CPU that no longer waits gains no more than the waiting that goes",
       .of = GainLimit::Of::Warming},
      perStep(gained, base), perStep(most, base));
  if (gained > most) warmer *= most / gained;
  for (DeviceNode& node : scenario.nodes) {
    node.durNs = scaled(node.durNs, 1 - warmer * (1 - node.warmShare));
  }
}

/// A quicker host lets queues run side by side whose work it launched one after the other. The
/// program's own waits between them show only where they held something up. So queues keep the
/// order that was recorded.
void keepQueueOrder(Scenario& scenario) {
  for (DeviceNode& node : scenario.nodes) {
    if (node.after != kNowhere) continue;
    node.after = node.behind;
    node.afterGapNs = 0;
  }
}

bool removesStalls(const Simulator::Model& model, std::span<const Change> changes) {
  return std::ranges::any_of(changes, [&](const Change& change) {
    const ChangeType& type = typeOf(change);
    return type.removesStalls != nullptr && type.removesStalls(change, model);
  });
}

Scenario changed(const Simulator::Model& model, std::span<const Change> changes, Bound bound,
                 bool unstalls, bool steadily, GainLimits& limits) {
  const std::vector<DeviceNode>& nodes = steadily ? model.steady.nodes : model.nodes;
  const std::vector<HostItem>& items = steadily ? model.steady.items : model.items;
  Scenario scenario{&model, nodes, items, std::vector<char>(nodes.size(), 0), model.loader};
  scenario.unstalled = unstalls;
  scenario.bound = bound;
  scenario.pipelined = unstalls && model.loader.canBePlayed();
  for (const Change& change : changes) {
    if (const ChangeType& type = typeOf(change); type.apply != nullptr)
      type.apply(scenario, change, bound);
  }
  const bool ordered = std::ranges::any_of(
      changes, [](const Change& change) { return typeOf(change).ordersQueues; });
  if (!ordered && std::ranges::any_of(changes, hastensHost) && scenario.items != items)
    keepQueueOrder(scenario);
  scenario.touched = scenario.touched || scenario.nodes != nodes || scenario.items != items;
  warmUp(scenario, limits);
  return scenario;
}

}  // namespace

bool hastensHost(const Change& change) {
  const ChangeType& type = typeOf(change);
  return type.hastensHost != nullptr && type.hastensHost(change);
}

Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound,
                    GainLimits* limits) {
  const bool unstalls = removesStalls(model, changes);
  GainLimits unseen;
  GainLimits& seen = limits == nullptr ? unseen : *limits;
  if (unstalls) seen.passed(model.steady.limit);
  return changed(model, changes, bound, unstalls, unstalls, seen);
}

Scenario asRecorded(const Simulator::Model& model, std::span<const Change> changes) {
  GainLimits unseen;
  return changed(model, changes, Bound::Likely, removesStalls(model, changes), false, unseen);
}

Scenario withWaits(const Simulator::Model& model, std::span<const Change> changes, Bound bound) {
  std::vector<Change> others;
  for (const Change& change : changes) {
    if (!removesStalls(model, {&change, 1})) others.push_back(change);
  }
  return scenarioOf(model, others, bound);
}

}  // namespace lacuna::analyzer
