// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "analyses/work/name_guesses.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kDropped = "none";
constexpr std::array<std::string_view, 2> kZeroGradWords{kDropped, "zero"};

/// The fills go, and in each step as many additions: the first gradient is put where it was added
/// to zeros.
void dropGradients(Scenario& scenario, const Change& change, Bound) {
  if (change.value != kDropped) return;
  const auto fills = [&](const HostItem& item) {
    return item.kind == HostItemKind::Launch && item.inZeroGrad &&
           (scenario.nodes[item.node].isMemset || fillsMemory(scenario.base->names[item.node]));
  };
  std::vector<std::size_t> filled(scenario.base->steps, 0);
  for (HostItem& item : scenario.items) {
    if (!fills(item)) continue;
    // A fill of a list is one of every gradient.
    filled[item.step] += worksOnList(scenario.base->names[item.node]) ? scenario.items.size() : 1;
    removeLaunch(scenario, item);
  }
  // Gradients that the first step adds to were filled with zeros before it.
  if (filled.size() > 1) filled[0] = std::max(filled[0], filled[1]);
  for (HostItem& item : scenario.items) {
    if (!item.accumulates || filled[item.step] == 0) continue;
    --filled[item.step];
    removeLaunch(scenario, item);
  }
}

}  // namespace

constinit const ChangeType changes::zeroGrad{
    .info = {.name = "zero_grad",
             .form = "zero_grad=none",
             .brief = "gradients are dropped instead of filled with zeros",
             .effect = "fills where gradients are cleared ([findings](findings.md)) are gone, and "
                       "per step as many that add a gradient to the one that is there "
                       "(`AccumulateGrad`; `add_` in the backward pass)",
             .argument = ChangeArgument::Word,
             .values = kZeroGradWords,
             .error = kNotMeasured},
    .apply = dropGradients,
};

}  // namespace lacuna::analyzer
