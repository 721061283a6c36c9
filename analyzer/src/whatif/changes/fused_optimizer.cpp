// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "lacuna/prof/bounds.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// An empty kernel takes about this on a GPU.
constexpr std::int64_t kEmptyKernelNs = 1'500;
/// The same on the queue of a CPU device.
constexpr std::int64_t kEmptyCpuWorkNs = 200;
/// A fused optimizer still lists every parameter, for one part in so many of the host time of a
/// launch: a convention.
constexpr std::int64_t kListedParts = 10;

using KernelOfQueue = std::pair<std::size_t, prof::StringId>;

/// The cost of a kernel that does next to nothing: its shortest time, as far as that is usual.
std::map<KernelOfQueue, std::int64_t> startCostsNs(const Simulator::Model& model) {
  const std::int64_t most = model.queueCores > 0 ? kEmptyCpuWorkNs : kEmptyKernelNs;
  std::map<KernelOfQueue, std::int64_t> costs;
  for (const DeviceNode& node : model.nodes) {
    std::int64_t& cost = costs.try_emplace({node.queue, node.name}, most).first->second;
    cost = std::min(cost, node.durNs);
  }
  return costs;
}

/// In each step one launch for all parameters that kernels of one name update: it computes what
/// they did.
void fuseOptimizer(Scenario& scenario, const Change&, Bound) {
  const auto startNs = startCostsNs(*scenario.base);
  std::map<KernelOfQueue, DeviceNode*> heads;  // of one step
  std::size_t step = kNowhere;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !item.inOptimizer || item.inZeroGrad) continue;
    if (item.step != step) heads.clear();
    step = item.step;
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work != Work::Compute || node.isMemset ||
        (item.blocks && !scenario.base->callerWorks(item)))
      continue;
    const KernelOfQueue kernel{node.queue, node.name};
    const auto [head, isFirst] = heads.try_emplace(kernel, &node);
    if (isFirst) continue;
    prof::addTo(head->second->durNs, std::max<std::int64_t>(0, node.durNs - startNs.at(kernel)));
    const std::int64_t gapNs = item.gapNs / kListedParts;
    removeLaunch(scenario, item);
    item.gapNs = gapNs;
  }
}

}  // namespace

constinit const ChangeType changes::fusedOptimizer{
    .info = {.name = "optimizer.fused",
             .form = "optimizer.fused=on",
             .brief = "one launch per kernel updates all parameters",
             .effect =
                 "inside optimizer ranges the first launch of a kernel in a step and queue does "
                 "the work of all of them; each of the others leaves a tenth of its host time and "
                 "no gap, and takes off the cost of starting it (the shortest of them, 1.5 µs at "
                 "most, 0.2 µs on a CPU device). A kernel that runs once a step stays as it is",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kNotMeasured},
    .acts = Acts::WhenOn,
    .apply = fuseOptimizer,
};

}  // namespace lacuna::analyzer
