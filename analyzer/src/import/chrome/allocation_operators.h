// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Gives each allocation that names no operator the innermost one around it on its thread.
/// Operators that only make room (aten::empty and its like) do not count: their caller is of more
/// use. The ranges must be in the order of time.
void addAllocationOperators(StoreBuilder& builder);

}  // namespace lacuna::analyzer
