// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analyses/work/name_guesses.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr KernelKind kFused[] = {KernelKind::Pointwise};
/// Chains of two to four pointwise operators, compiled into one by PyTorch 2.15 on a CPU with AMX:
/// 0.13, from nothing to 0.9 where the chain takes a tenth of a millisecond and the call counts.
constexpr DurationFactor kFusedRest{0.15, 0.0, 0.5};
constexpr CalibratedFactor kFuseFactors[] = {{"pointwise", kFused, kFusedRest}};

/// Neighbours in launch order on one queue that are all pointwise become one kernel.
void fuseNeighbours(Scenario& scenario, const Change& change, Bound bound) {
  HostItem* head = nullptr;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) {
      head = nullptr;
      continue;
    }
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work != Work::Compute || node.isMemset ||
        !isPointwiseWork(scenario.base->names[item.node])) {
      head = nullptr;
      continue;
    }
    if (head == nullptr || item.betweenNs > 0 || scenario.nodes[head->node].queue != node.queue) {
      head = &item;
      continue;
    }
    std::int64_t& total = scenario.nodes[head->node].durNs;
    const std::int64_t longer = std::max(total, node.durNs), shorter = std::min(total, node.durNs);
    const DurationFactor rest =
        scenario.base->factors().factor(change.target, KernelKind::Pointwise, shorter);
    total = longer + scaled(shorter, pick(rest, bound));
    removeLaunch(scenario, item);
  }
}

}  // namespace

constinit const ChangeType changes::fuse{
    .info = {.name = "fuse",
             .form = "fuse=on",
             .brief = "neighbouring pointwise kernels become one",
             .effect = "neighbouring pointwise kernels take as long as the longest and 0.15 (0 … "
                       "0.5) of the others",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kNotMeasured,
             .control = ChangeControl::CheckBox,
             .label = "fuse"},
    .acts = Acts::WhenOn,
    .apply = fuseNeighbours,
    .note = noteOfFactors,
    .hasBounds = true,
    .factors = kFuseFactors,
    .factorsFrom = "measured on a CPU with AMX, a convention elsewhere",
};

}  // namespace lacuna::analyzer
