// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// What PyTorch says of a device's memory behind an allocation or a free; -1: nothing.
struct MemoryTotals {
  std::int64_t allocated = -1;
  std::int64_t reserved = -1;
};

/// Appends rows for what was handed out before the first row of a device, and for what its allocator held then and took
/// or gave back later, as the totals tell. `totals` is one for each row of the allocation table; of a device whose
/// first row has none nothing is known.
void addMemoryOfTotals(StoreBuilder& builder, std::span<const MemoryTotals> totals);

}  // namespace lacuna::analyzer
