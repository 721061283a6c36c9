// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analyses/work/name_guesses.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// A check for infinities or NaN is a few launches, at most this many items before the
/// synchronisation that reads it.
constexpr std::size_t kChain = 8;

/// Checks for numbers that are none, up to the synchronisation that reads the answer, and what a
/// debug mode does inside of operators that the caller executes. Without either every
/// synchronisation is taken for the debug mode's.
void leaveDebugMode(Scenario& scenario, const Change&, Bound) {
  auto& items = scenario.items;
  bool any = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != HostItemKind::Launch ||
        !checksNumbers(scenario.base->names[items[i].node]))
      continue;
    std::size_t end = i;
    while (end < items.size() && end - i < kChain && items[end].kind != HostItemKind::Sync) ++end;
    if (end == items.size() || items[end].kind != HostItemKind::Sync) continue;
    any = true;
    for (std::size_t k = i; k < end; ++k) {
      if (items[k].kind == HostItemKind::Launch) removeLaunch(scenario, items[k]);
    }
    items[end].node = kNowhere;
    items[end].gapNs = items[end].durNs = 0;
    i = end;
  }
  const bool isInside = std::ranges::any_of(scenario.nodes, [](const DeviceNode& node) {
    return node.avoidableNs[static_cast<std::size_t>(AvoidableWork::Debugs)] > 0;
  });
  scaleAvoidableWork(scenario, AvoidableWork::Debugs, 0);
  if (any || isInside) return;
  for (HostItem& item : items) {
    item.blocks = scenario.base->callerWorks(item);
    if (item.kind != HostItemKind::Sync) continue;
    item.node = kNowhere;
    item.durNs = 0;
  }
}

}  // namespace

constinit const ChangeType changes::debug{
    .info = {.name = "debug",
             .form = "debug=off",
             .brief = "checks for infinities and NaN go, and their waits",
             .effect = "launches that check for infinities or NaN are gone, up to the "
                       "synchronisation that reads the answer, and so are the checks of anomaly "
                       "detection inside of operators that the caller executes, with the time to "
                       "keep a stack for each node of the graph of gradients (`debug.stack_ns`, "
                       "which the hook measures); without either no synchronisation waits",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kMeasuredOnWaits},
    .acts = Acts::WhenOff,
    .apply = leaveDebugMode,
    .removesStalls = alwaysStalls,
};

}  // namespace lacuna::analyzer
