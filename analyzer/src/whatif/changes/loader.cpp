// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::loader{
    .info = {.name = "loader",
             .form = "loader*F",
             .brief = "preparing batches takes F times as long",
             .effect = "preparing batches takes F times as long",
             .error = kNotMeasured},
    .apply = [](Scenario& scenario, const Change& change,
                Bound) { scaleLoader(scenario, change.factor); },
    .removesStalls = [](const Change& change,
                        const Simulator::Model&) { return change.factor < 1; },
};

}  // namespace lacuna::analyzer
