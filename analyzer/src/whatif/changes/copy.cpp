// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::copy{
    .info = {.name = "copy",
             .form = "copy*F",
             .brief = "copies take F times as long",
             .effect = "copies take F times as long",
             .error = kNotMeasured},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          scaleNodes(scenario, change.factor, [&](std::size_t node) {
            return scenario.base->nodes[node].work == Work::Copy;
          });
        },
};

}  // namespace lacuna::analyzer
