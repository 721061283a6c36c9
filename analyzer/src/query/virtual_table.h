// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Registers each table of a store under its name. The store must outlive the connection.
void registerTables(sqlite3* db, const Store& store);

}  // namespace lacuna::analyzer
