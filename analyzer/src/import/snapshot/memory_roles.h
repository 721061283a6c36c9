// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Says what PyTorch's memory is for, as far as the ranges around an allocation and the time of its end tell; see
/// docs/importing.md. Leaves a trace alone that says it itself. The ranges must be in the order of time.
void addMemoryRoles(StoreBuilder& builder);

}  // namespace lacuna::analyzer
