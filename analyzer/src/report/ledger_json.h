// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/ledger.h"
#include "report/json_writer.h"

namespace lacuna::analyzer {

/// An object with every cause, and what recording may have added.
void writeLedger(JsonWriter& json, const Ledger& ledger, const Ledger& bands);

}  // namespace lacuna::analyzer
