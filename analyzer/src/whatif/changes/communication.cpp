// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::communication{
    .info = {.name = "communication",
             .form = "communication*F",
             .brief = "collectives take F times as long",
             .effect = "collectives take F times as long",
             .error = kNotMeasured},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          scaleNodes(scenario, change.factor, [&](std::size_t node) {
            return scenario.base->nodes[node].work == Work::Communication;
          });
        },
};

}  // namespace lacuna::analyzer
