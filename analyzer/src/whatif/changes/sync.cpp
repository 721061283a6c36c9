// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::sync{
    .info = {.name = "sync",
             .form = "sync=off",
             .brief = "synchronisations do not wait",
             .effect = "synchronisations do not wait",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kMeasuredOnWaits},
    .acts = Acts::WhenOff,
    .apply =
        [](Scenario& scenario, const Change&, Bound) {
          for (HostItem& item : scenario.items) {
            if (item.kind != HostItemKind::Sync) continue;
            item.node = kNowhere;
            item.durNs = 0;
          }
        },
    .removesStalls = alwaysStalls,
};

}  // namespace lacuna::analyzer
