// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "lacuna/prof/bounds.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"
#include "whatif/name_lists.h"

namespace lacuna::analyzer {
namespace {

/// A call that takes no time does not wait either; one that started work hands it over as others
/// do.
void scaleCalls(Scenario& scenario, const Change& change, Bound) {
  const Simulator::Model& base = *scenario.base;
  std::unordered_map<prof::StringId, bool> named;
  for (const auto& [id, name] : base.callNames) named[id] = isNamed(change, name);
  const auto moves = [&](const HostItem& item) {
    const std::uint64_t bytes = scenario.nodes[item.node].bytes;
    return bytes <= change.uptoBytes && (change.aboveBytes == 0 || bytes > change.aboveBytes);
  };
  for (HostItem& item : scenario.items) {
    if (isOfLoader(item.kind) || !named[item.call]) continue;
    if (item.kind == HostItemKind::Launch && !moves(item)) continue;
    if (item.kind == HostItemKind::Sync && change.aboveBytes > 0) continue;
    if (change.factor > 0) {
      item.durNs = scaled(item.durNs, change.factor);
    } else if (item.kind == HostItemKind::Sync) {
      item.node = kNowhere;
      item.durNs = 0;
    } else {
      item.durNs = std::min(item.durNs, kPinnedCallNs);
      item.blocks = base.callerWorks(item);
    }
  }
  for (const DriverPart& part : base.driverParts) {
    if (!named[part.call]) continue;
    HostItem& item = scenario.items[part.item];
    const std::int64_t goes =
        std::min({item.gapNs, item.driverNs, scaled(part.ns, std::max(0.0, 1 - change.factor))});
    prof::takeFrom(item.gapNs, goes);
    prof::takeFrom(item.driverNs, goes);
  }
}

bool takesWaitsAway(const Change& change, const Simulator::Model& model) {
  return change.factor == 0 &&
         std::any_of(model.items.begin(), model.items.end(), [&](const HostItem& item) {
           const auto name = model.callNames.find(item.call);
           const bool waits =
               item.kind == HostItemKind::Sync || (item.blocks && !model.callerWorks(item));
           return waits && name != model.callNames.end() && isNamed(change, name->second);
         });
}

prof::Status hasChosenCalls(const Change& change, const Simulator::Model& model) {
  const bool any = std::any_of(model.callNames.begin(), model.callNames.end(),
                               [&](const auto& call) { return isNamed(change, call.second); });
  if (any) return {};
  return prof::Error{
      fmt::format("'{}': no call of the steps replayed has a name with '{}' in it; there are: {}",
                  change.text(), change.pattern, frequentCalls(model))};
}

}  // namespace

constinit const ChangeType changes::call{
    .info = {.name = "call",
             .form = "call:PATTERN*F",
             .brief = "calls of these names take F times as long (0: no wait)",
             .effect =
                 "calls whose names match, of those that wait the part behind the wait, and driver "
                 "calls between launches, take F times as long; with 0 they do not wait either",
             .names = ChangeNames::Needed,
             .namesExample = "call:cudaMemcpy*0",
             .error = kNotMeasured},
    .apply = scaleCalls,
    .check = hasChosenCalls,
    .removesStalls = takesWaitsAway,
};

}  // namespace lacuna::analyzer
