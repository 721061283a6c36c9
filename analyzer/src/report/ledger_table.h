// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/table.h"

namespace lacuna::analyzer {

/// A ledger as a record with its entries inside; `bands`: what recording may have added to each.
Table ledgerTable(const Ledger& ledger, const Ledger& bands);

}  // namespace lacuna::analyzer
