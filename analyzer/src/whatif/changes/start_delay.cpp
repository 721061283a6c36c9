// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::startDelay{
    .info =
        {.name = "start-delay",
         .form = "start-delay*F",
         .brief = "work starts after F times the delay",
         .effect =
             "the delay from the end of whatever a piece of work waited for (its launch, the work "
             "before it on its queue, work of another queue) to its start takes F times as long",
         .error = kNotMeasured},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          for (DeviceNode& node : scenario.nodes) {
            for (const auto delay :
                 {&DeviceNode::launchDelayNs, &DeviceNode::queueGapNs, &DeviceNode::afterGapNs})
              node.*delay = scaled(node.*delay, change.factor);
          }
        },
};

}  // namespace lacuna::analyzer
