// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// Collectives get a queue of their own, on which each waits for the work launched before it. In
/// the same step only the optimizer waits for them, or without one the next step.
void overlapCollectives(Scenario& scenario) {
  const std::size_t own = scenario.base->queues;
  std::vector<std::size_t> lastOn(own, kNowhere);
  std::size_t pending = kNowhere, pendingStep = 0;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work == Work::Communication) {
      item.blocks = false;
      if (node.after == kNowhere && lastOn[node.queue] != kNowhere) {
        node.after = lastOn[node.queue];
        node.afterGapNs = node.queueGapNs;
      }
      node.queue = own;
      pending = item.node;
      pendingStep = item.step;
      continue;
    }
    lastOn[node.queue] = item.node;
    if (node.after != kNowhere && scenario.nodes[node.after].work == Work::Communication) {
      node.after = kNowhere;
      node.afterGapNs = 0;
    }
    if (pending == kNowhere || (item.step == pendingStep && (!item.inOptimizer || item.inZeroGrad)))
      continue;
    node.after = pending;
    pending = kNowhere;
  }
}

/// High: no gain. Low: all collectives are hidden.
void overlapOrHide(Scenario& scenario, const Change&, Bound bound) {
  if (bound == Bound::Likely) overlapCollectives(scenario);
  if (bound != Bound::Low) return;
  scaleNodes(scenario, 0, [&](std::size_t node) {
    return scenario.base->nodes[node].work == Work::Communication;
  });
}

}  // namespace

constinit const ChangeType changes::overlap{
    .info = {.name = "overlap",
             .form = "overlap=on",
             .brief = "collectives run beside the backward pass",
             .effect = "collectives are launched where they are, wait for the work launched before "
                       "them, and only the optimizer waits for them; from no gain (as recorded) to "
                       "all of them hidden (`communication*0`)",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kNotMeasured},
    .acts = Acts::WhenOn,
    .apply = overlapOrHide,
    .note =
        [](const Change& change, const Simulator::Model&) {
          return change.text() +
                 " leaves collectives where they are launched, and only the optimizer waits for "
                 "them; the interval reaches from no gain to all of them hidden";
        },
    .hasBounds = true,
    .ordersQueues = true,
};

}  // namespace lacuna::analyzer
