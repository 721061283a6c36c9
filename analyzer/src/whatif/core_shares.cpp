// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/core_shares.h"

#include <algorithm>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// The share of its time that a thread waits for a core as it is woken, where nothing else wants
/// one.
constexpr double kWakingUp = 0.01;
/// Larger shares are no measurement: a thread that gets a tenth of what it wants makes no steps to
/// speak of.
constexpr double kMostLost = 0.9;

}  // namespace

double lostToOthers(const CoreContention& contention) {
  const double threadsNs = static_cast<double>(contention.threads.size()) *
                           static_cast<double>(contention.window.endNs - contention.window.startNs);
  const double share = contention.lostShare();
  const bool others =
      share >= kNoContention && static_cast<double>(contention.lostNs) >= kWakingUp * threadsNs;
  return others ? std::min(kMostLost, share) : 0;
}

double teamOfWork(const Simulator::Model& model, const StepThread& threads) {
  if (model.queueCores < 2 || threads.wantedCores <= 0) return 1;
  double ownNs = 0, workNs = 0;
  for (const HostItem& item : model.items) {
    prof::addTo(ownNs, static_cast<double>(item.gapNs));
    if (item.kind == HostItemKind::Launch) prof::addTo(ownNs, static_cast<double>(item.durNs));
    if (item.kind == HostItemKind::LoaderWait && model.loader.serial)
      prof::addTo(ownNs,
                  static_cast<double>(item.durNs) * std::clamp(model.loader.cpuShare, 0.0, 1.0));
  }
  for (const DeviceNode& node : model.nodes) prof::addTo(workNs, static_cast<double>(node.durNs));
  const double allNs = threads.wantedCores * static_cast<double>(model.measured.typicalNs()) *
                       static_cast<double>(model.steps);
  if (workNs <= 0) return 1;
  return std::clamp((allNs - ownNs - workNs) / (workNs * (model.queueCores - 1)), 0.0, 1.0);
}

}  // namespace lacuna::analyzer
