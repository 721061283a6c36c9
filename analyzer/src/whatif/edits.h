// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "lacuna/analyzer/whatif.h"
#include "whatif/scenario.h"

/// Edits of the program to replay that several changes share.
namespace lacuna::analyzer {

/// Host time of a copy's call once the copy no longer blocks: queueing it, as cudaMemcpyAsync from
/// pinned memory does.
inline constexpr std::int64_t kPinnedCallNs = 5'000;

double pick(const DurationFactor& factor, Bound bound);
/// True when the change's pattern chooses this name.
bool isNamed(const Change& change, std::string_view name);
std::int64_t scaled(std::int64_t ns, double factor);

/// The launch and its work go, with the host's work in front of it. All of that work goes where it
/// is nothing unusual, else as much as is usual in front of a launch.
void removeLaunch(Scenario& scenario, HostItem& item);
/// Durations of the device's work for which `isChosen(node's position)`.
template <class IsChosen>
void scaleNodes(Scenario& scenario, double factor, IsChosen&& isChosen) {
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    if (isChosen(i)) scenario.nodes[i].durNs = scaled(scenario.nodes[i].durNs, factor);
  }
}
/// Durations of computing kernels for which `isChosen(name)`, each by the change's calibrated
/// factor for its kind.
template <class IsChosen>
void scaleByKind(Scenario& scenario, const Change& change, Bound bound, IsChosen&& isChosen) {
  const Simulator::Model& base = *scenario.base;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    DeviceNode& node = scenario.nodes[i];
    if (node.work != Work::Compute || !isChosen(base.names[i])) continue;
    const DurationFactor factor =
        base.factors().factor(change.target, kernelKindOf(base.names[i]), node.durNs);
    node.durNs = scaled(node.durNs, pick(factor, bound));
  }
}
/// The time that it takes to prepare batches.
void scaleLoader(Scenario& scenario, double factor);
/// The loader with other numbers of workers or batches ahead: its workers are played where the
/// trace shows enough.
void playLoader(Scenario& scenario);
/// Host and device time inside ranges of the avoidable work.
void scaleAvoidableWork(Scenario& scenario, AvoidableWork kind, double factor);

}  // namespace lacuna::analyzer
