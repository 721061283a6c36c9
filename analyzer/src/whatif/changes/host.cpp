// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// Allocator and driver calls take as long however quick the program is.
void scaleHost(Scenario& scenario, const Change& change, Bound) {
  for (HostItem& item : scenario.items) {
    const std::int64_t driverNs = std::min(item.gapNs, item.driverNs);
    item.gapNs = driverNs + scaled(item.gapNs - driverNs, change.factor);
  }
}

}  // namespace

constinit const ChangeType changes::host{
    .info = {.name = "host",
             .form = "host*F",
             .brief = "host work between launches and waits takes F times as long",
             .effect = "host work between launches and waits takes F times as long, but for "
                       "allocator and driver calls",
             .error = kNotMeasured},
    .apply = scaleHost,
    .hastensHost = [](const Change& change) { return change.factor < 1; },
};

}  // namespace lacuna::analyzer
