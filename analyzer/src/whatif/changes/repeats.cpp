// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr std::array<std::string_view, 1> kRepeatsWords{"joined"};

/// A loop over samples becomes one operator: one launch for each of its kernels, at least as long
/// as the longest and at most as all of them on the device.
void joinRepeats(Scenario& scenario, const Change&, Bound bound) {
  const auto& joins = scenario.base->joins;
  if (joins.empty()) return;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || joins[item.node] == kNowhere) continue;
    std::int64_t& head = scenario.nodes[joins[item.node]].durNs;
    const std::int64_t own = scenario.nodes[item.node].durNs;
    head = bound == Bound::Low ? std::max(head, own) : head + own;
    removeLaunch(scenario, item);
  }
}

}  // namespace

constinit const ChangeType changes::repeats{
    .info = {.name = "repeats",
             .form = "repeats=joined",
             .brief = "a loop over samples becomes one operator",
             .effect = "of kernels that `tiny-kernels` reports ([findings](findings.md)) each "
                       "round but the first goes, with the host's work for it; the first takes as "
                       "long as all of them (at least as the longest)",
             .argument = ChangeArgument::Word,
             .values = kRepeatsWords,
             .error = kNotMeasured},
    .apply = joinRepeats,
    .note =
        [](const Change& change, const Simulator::Model&) {
          return change.text() +
                 " takes a loop's work for as long as all of its kernels; the interval reaches to "
                 "the longest of them alone";
        },
    .hasBounds = true,
};

}  // namespace lacuna::analyzer
