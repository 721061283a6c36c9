// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Finds what PyTorch's memory is for, as far as the ranges around an allocation and the time of
/// its end show it; see docs/importing.md. Leaves a trace alone that has it already. The ranges
/// must be in the order of time.
void addMemoryRoles(StoreBuilder& builder);

}  // namespace lacuna::analyzer
