// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::replication{
    .info = {.name = "replication",
             .form = "replication*F",
             .brief = "copying the model to several devices takes F times as long",
             .effect = "ranges in which the model is copied to several devices and gradients are "
                       "gathered (`broadcast_coalesced`, `BroadcastBackward`, "
                       "`reduce_add_coalesced`): host and device take F times as long",
             .error = kNotMeasured},
    .apply = [](Scenario& scenario, const Change& change,
                Bound) { scaleAvoidableWork(scenario, AvoidableWork::Replicates, change.factor); },
};

}  // namespace lacuna::analyzer
