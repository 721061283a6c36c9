// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <memory>

#include "lacuna/analyzer/query.h"

namespace lacuna::analyzer {

/// Registers a table of SQL for each of these. `wanted` lets loading stop.
void registerReportTables(sqlite3* db, const std::shared_ptr<const ReportTables>& tables,
                          const Progress& wanted);

}  // namespace lacuna::analyzer
