// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Registers each table of a store under its name. The store must outlive the connection. Tables of
/// more rows are streamed, where their store can.
void registerTables(sqlite3* db, const Store& store, std::uint64_t mostKeptRows);

}  // namespace lacuna::analyzer
