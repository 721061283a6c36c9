// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/trace.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/memory.h"
#include "models/table_model.h"

/// Results of the analyzer as tables to look at. The first column is always the name.
namespace lacuna::gui {

TableData kernelTableOf(const analyzer::Analysis& analysis);
/// One row for each name, or for each name with its input shapes; memory last, where allocations
/// were recorded.
TableData operatorTableOf(const analyzer::Analysis& analysis, bool byShapes);
/// The causes for which the devices were idle, costliest first.
TableData causeTable(const analyzer::Analysis& analysis);
TableData leakTable(const analyzer::MemoryStats& memory);
/// Edits that would bring the peak down, in the analyzer's order.
TableData peakEditTable(const std::vector<analyzer::PeakEdit>& edits);
/// Memory that each device's allocator held when it last had to grow: a row for each figure, a
/// column for each device.
TableData allocatorTable(const analyzer::Analysis& analysis);
/// Figures of one unit, such as kernels or the ledger's entries.
TableData comparisonTable(const std::vector<analyzer::Comparison>& rows, const QString& what);
/// Figures of several units, as texts.
TableData mixedComparisonTable(std::vector<analyzer::Comparison> rows, const QString& what);
/// "new", "gone", "slower", "faster", "more", "fewer" or "same", by what noise explains.
QString verdictWords(const analyzer::Comparison& row);
TableData momentTable(const Trace& trace, const analyzer::MemoryMoment& moment);
TableData areaTable(const Trace& trace, const analyzer::AreaStats& stats);
/// The ledger of the run and of each step, as comma-separated values.
QString ledgerCsv(const analyzer::Analysis& analysis);

}  // namespace lacuna::gui
