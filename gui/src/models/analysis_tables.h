// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/trace.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/track_queries.h"
#include "models/table_model.h"

/// Results of the analyzer as tables to look at. The first column is always the name.
namespace lacuna::gui {

TableData kernelTableOf(const analyzer::Analysis& analysis);
TableData operatorTableOf(const analyzer::Analysis& analysis);
TableData liveTable(const analyzer::Analysis& analysis);
TableData areaTable(const Trace& trace, const analyzer::AreaStats& stats);

}  // namespace lacuna::gui
