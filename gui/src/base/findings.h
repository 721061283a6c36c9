// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::gui {

using AnalysisPtr = std::shared_ptr<const analyzer::Analysis>;
/// The ledger of each device over time, for the timeline and the steps.
using LedgerStrips = std::shared_ptr<const std::vector<analyzer::LedgerStrip>>;

/// The analyses of one trace and the model that plays changes on it (none where there is no device
/// work).
struct Findings {
  AnalysisPtr analysis;
  std::shared_ptr<const analyzer::Simulator> simulator;
  QString problem;  ///< why there is no analysis
};

}  // namespace lacuna::gui
