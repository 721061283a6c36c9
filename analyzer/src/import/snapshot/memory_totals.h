// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// PyTorch's totals of a device's memory after an allocation or a free; -1: none.
struct MemoryTotals {
  std::int64_t allocated = -1;
  std::int64_t reserved = -1;
};

/// Appends rows for memory handed out before the first row of a device. It also appends rows for
/// memory that its allocator held then, and took or gave back later, as the totals show. `totals`
/// is one for each row of the allocation table; nothing is known of a device whose first row has
/// none.
void addMemoryOfTotals(StoreBuilder& builder, std::span<const MemoryTotals> totals);

}  // namespace lacuna::analyzer
