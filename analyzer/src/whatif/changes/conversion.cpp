// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::conversion{
    .info = {.name = "conversion",
             .form = "conversion*F",
             .brief = "converting what was just converted takes F times as long",
             .effect = "conversions directly behind a conversion of the same: host and device take "
                       "F times as long",
             .error = kNotMeasured},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          scaleAvoidableWork(scenario, AvoidableWork::ConvertsBack, change.factor);
        },
};

}  // namespace lacuna::analyzer
