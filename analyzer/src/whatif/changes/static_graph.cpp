// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// A replayed graph hands over a kernel in about this time: a convention.
constexpr std::int64_t kGraphLaunchNs = 500;
/// The gap that a replayed graph leaves between kernels of a queue: a convention.
constexpr std::int64_t kGraphGapNs = 500;

/// Every launch costs as much as a graph's node; the host's own work between waits is gone. A graph
/// holds a step, so the host's work between two steps stays, such as waiting for batches of a
/// loader that records nothing.
void replayGraph(Scenario& scenario, const Change&, Bound) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    const std::int64_t betweenNs = std::min(item.gapNs, item.betweenNs);
    item.gapNs = betweenNs + std::min(item.gapNs - betweenNs, kGraphLaunchNs);
    item.driverNs = std::min(item.driverNs, item.gapNs);
    // A CPU that works within the call does so for a graph, too.
    item.blocks = scenario.base->callerWorks(item);
    item.durNs = 0;
    DeviceNode& node = scenario.nodes[item.node];
    node.queueGapNs = std::min(node.queueGapNs, kGraphGapNs);
  }
}

}  // namespace

constinit const ChangeType changes::staticGraph{
    .info =
        {.name = "static_graph",
         .form = "static_graph=on",
         .brief = "a graph of the step is replayed",
         .effect =
             "a launch costs 0.5 µs of host time, gaps between queued kernels are at most 0.5 µs; "
             "queues keep their order, and the gain is at most the idle time. The host's work "
             "between two marked steps stays, and a CPU that works within its calls still does",
         .argument = ChangeArgument::Word,
         .values = kSwitchWords,
         .error = kNotMeasured,
         .control = ChangeControl::CheckBox,
         .label = "static graph"},
    .acts = Acts::WhenOn,
    .apply = replayGraph,
    .hastensHost = always,
};

}  // namespace lacuna::analyzer
