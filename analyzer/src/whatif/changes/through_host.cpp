// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::throughHost{
    .info = {.name = "through-host",
             .form = "through-host*F",
             .brief = "collectives in host memory take F times as long",
             .effect = "ranges of collectives of gloo or MPI: host and device take F times as long",
             .error = kNotMeasured},
    .apply = [](Scenario& scenario, const Change& change,
                Bound) { scaleAvoidableWork(scenario, AvoidableWork::ThroughHost, change.factor); },
};

}  // namespace lacuna::analyzer
