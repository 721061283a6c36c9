// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/registry.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::backend{
    .info = {.name = "backend",
             .argument = ChangeArgument::None,
             .notReplayed = "how fast another backend moves the same bytes is not in the trace",
             .instead = "record a short run with it and compare (lacuna diff); "
                        "communication*FACTOR plays a speed-up that you know"},
};

}  // namespace lacuna::analyzer
