// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/trace.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/memory.h"
#include "models/analysis_tables.h"
#include "models/details_model.h"
#include "models/table_model.h"

/// Shows a trace in every model of the GUI, as far as a model can be asked without a window. Needs
/// a QApplication.
namespace lacuna::gui::testing {

constexpr int kRowsShown = 40;

inline void showAll(const QAbstractItemModel& model) {
  for (int row = 0; row < std::min(model.rowCount(), kRowsShown); ++row) {
    for (int column = 0; column < model.columnCount(); ++column) {
      for (const int role :
           {static_cast<int>(Qt::DisplayRole), static_cast<int>(Qt::ToolTipRole),
            static_cast<int>(Qt::ForegroundRole), static_cast<int>(Qt::TextAlignmentRole)}) {
        (void)model.data(model.index(row, column), role);
      }
    }
  }
}

inline void showTable(TableData table) {
  TableModel model;
  model.setTable(std::move(table));
  showAll(model);
  (void)model.csv();
}

inline void showAnalysis(const analyzer::Analysis& analysis) {
  showTable(kernelTableOf(analysis));
  for (const bool byShapes : {false, true}) showTable(operatorTableOf(analysis, byShapes));
  showTable(causeTable(analysis));
  showTable(leakTable(analysis.of<analyzer::MemoryTables>().all));
  showTable(peakEditTable(analysis.of<analyzer::PeakEdits>()));
  showTable(allocatorTable(analysis));
  showTable(comparisonTable(compareKernels(analysis, analysis), QStringLiteral("kernel")));
  showTable(comparisonTable(compareLedgers(analysis, analysis), QStringLiteral("cause")));
  showTable(mixedComparisonTable(compareRuns(analysis, analysis), QStringLiteral("figure")));
}

inline void showEvents(const TracePtr& trace, const analyzer::Track& track) {
  DetailsModel model;
  for (const analyzer::Lane& lane : track.lanes) {
    if (lane.size() == 0) continue;
    const analyzer::EventRef event =
        analyzer::findEvent(*trace->store, track, lane.startNs(0), lane.durNs(0), lane.name(0));
    model.show(trace, event);
    model.append(argumentsOf(*trace, event));
    showAll(model);
    (void)analyzer::linkedEvents(*trace->store, event);
  }
}

inline void showEverything(const std::shared_ptr<const analyzer::Store>& store) {
  const auto tracks = analyzer::buildTracks(*store);
  if (!tracks) return;
  auto trace = std::make_shared<Trace>();
  trace->darkStyles = std::make_unique<NameStyles>(*store, true);
  trace->lightStyles = std::make_unique<NameStyles>(*store, false);
  trace->store = store;
  trace->tracks = *tracks;
  for (const analyzer::TrackGroup& group : trace->tracks->groups) {
    for (const analyzer::Track& track : group.tracks) showEvents(trace, track);
  }
  showTable(areaTable(*trace, analyzer::areaStats(*trace->tracks, trace->tracks->span)));
  if (const auto moment = analyzer::memoryAt(*store, trace->tracks->span.endNs))
    showTable(momentTable(*trace, *moment));
  if (const auto analysis = analyzer::analyse(store)) showAnalysis(*analysis);
}

}  // namespace lacuna::gui::testing
