// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <span>
#include <string_view>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

inline constexpr std::string_view kCollectiveTable = "collective";

/// A column of a table that is computed from others.
struct ComputedColumn {
  std::string_view name, type, doc;
};
std::span<const ComputedColumn> collectiveColumns();

/// Registers the table of communication kernels with what they carry out (listCollectives()), which
/// is made when a statement first reads it and kept. The store must outlive the connection.
void registerCollectives(sqlite3* db, const Store& store);

}  // namespace lacuna::analyzer
