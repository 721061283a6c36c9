// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lacuna/prof/bounds.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// A driver call that the thread slept in is the driver's, and stays.
void scaleSleep(Scenario& scenario, const Change& change, Bound) {
  for (HostItem& item : scenario.items) {
    const std::int64_t offNs = std::min(item.gapNs, item.offCpuNs);
    prof::addTo(item.gapNs, scaled(offNs, change.factor) - offNs);
    item.offCpuNs = scaled(offNs, change.factor);
  }
}

}  // namespace

constinit const ChangeType changes::offCpu{
    .info = {.name = "off-cpu",
             .form = "off-cpu*F",
             .brief = "launching threads are off the CPU F times as long",
             .effect = "time that the launching threads are off the CPU between launches and waits "
                       "(outside of driver calls) takes F times as long",
             .error = kNotMeasured},
    .apply = scaleSleep,
    .hastensHost = [](const Change& change) { return change.factor < 1; },
};

}  // namespace lacuna::analyzer
