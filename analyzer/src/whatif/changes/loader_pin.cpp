// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr KernelKind kCopies[] = {KernelKind::Copy};
/// A convention: copies that are staged in pinned memory move every byte twice.
constexpr DurationFactor kPinnedCopy{0.5, 0.3, 0.9};
constexpr CalibratedFactor kPinFactors[] = {{"copy", kCopies, kPinnedCopy}};

void pinCopies(Scenario& scenario, const Change& change, Bound bound) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !scenario.nodes[item.node].isPageable) continue;
    DeviceNode& node = scenario.nodes[item.node];
    const DurationFactor pinned =
        scenario.base->factors().factor(change.target, KernelKind::Copy, node.durNs);
    node.durNs = scaled(node.durNs, pick(pinned, bound));
    item.durNs = item.blocks ? kPinnedCallNs : std::min(item.durNs, kPinnedCallNs);
    item.blocks = false;
  }
}

}  // namespace

constinit const ChangeType changes::loaderPin{
    .info = {.name = "loader.pin",
             .form = "loader.pin=on",
             .brief = "copies come from pinned memory and do not block the host",
             .effect = "pageable copies take 0.5 (0.3 … 0.9) of their time and no longer block the "
                       "host ([calibration](../calibration.md) of these factors)",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kNotMeasured},
    .acts = Acts::WhenOn,
    .apply = pinCopies,
    .removesStalls = alwaysStalls,
    .note = noteOfFactors,
    .hasBounds = true,
    .factors = kPinFactors,
    .factorsFrom = "a convention",
};

}  // namespace lacuna::analyzer
