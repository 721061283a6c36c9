// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// Other programs' share of what the threads' work took: of host work, of batches as far as
/// preparing them computes, and of the work of a CPU device.
void scaleCoresTaken(Scenario& scenario, const Change& change, Bound) {
  const Simulator::Model& base = *scenario.base;
  const double goes = 1 - change.factor;
  const double host = 1 - base.hostLostShare * goes;
  const double others = 1 - base.lostShare * goes;
  const double loader = 1 - base.lostShare * goes * std::clamp(scenario.loader.cpuShare, 0.0, 1.0);
  for (HostItem& item : scenario.items) {
    item.gapNs = scaled(item.gapNs, host);
    item.driverNs = scaled(item.driverNs, host);
    if (item.kind == HostItemKind::Launch || item.kind == HostItemKind::WorkerChange)
      item.durNs = scaled(item.durNs, host);
    if (item.kind != HostItemKind::LoaderWait) continue;
    item.durNs = scaled(item.durNs, loader);
    item.periodNs = scaled(item.periodNs, loader);
  }
  scenario.loader.batchNs = scaled(scenario.loader.batchNs, loader);
  if (base.queueCores == 0) return;
  for (DeviceNode& node : scenario.nodes) node.durNs = scaled(node.durNs, others);
}

}  // namespace

constinit const ChangeType changes::coresTaken{
    .info = {.name = "cores-taken",
             .form = "cores-taken*F",
             .brief = "other programs take F times as much of the cores",
             .effect = "other programs take F times as much of the cores as they did "
                       "([above](#cores-that-other-programs-use)): host work takes 1 − (1 − F) ℓ "
                       "of its time by its thread's own ℓ, work of a CPU device and the computing "
                       "part of batches by the program's",
             .error = kNotMeasured},
    .apply = scaleCoresTaken,
};

}  // namespace lacuna::analyzer
