// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/registry.h"

namespace lacuna::analyzer {

constinit const ChangeType changes::checkpoint{
    .info = {.name = "checkpoint",
             .argument = ChangeArgument::None,
             .notReplayed = "which activations are recomputed is the program's choice",
             .instead = "lacuna report FILE --section memory lists what could be recomputed, with "
                        "the bytes it frees and the time it costs"},
};

}  // namespace lacuna::analyzer
