// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/registry.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::workspace{
    .info = {.name = "workspace",
             .argument = ChangeArgument::None,
             .notReplayed = "which algorithms a larger workspace allows is the library's choice",
             .instead = "record a short run with it and compare (lacuna diff); kernel:NAME*FACTOR "
                        "plays a speed-up that you know"},
};

}  // namespace lacuna::analyzer
