// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The same tables, watched while they are read. Before each block, a scan reports to `watch` how
/// far through the table it has come (0 … 1). It fails once `watch` answers false. So work that is
/// nothing but scans can be called off without a word of its own about it. Links of this store are
/// its own; `watch` comes on the scanning thread.
std::shared_ptr<const Store> watchScans(const std::shared_ptr<const Store>& store, Progress watch);

}  // namespace lacuna::analyzer
