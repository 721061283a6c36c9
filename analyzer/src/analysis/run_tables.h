// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/work_progress.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Fills in the tables that are made of all of the window at once, and what follows from them: the edits of memory's
/// peak, the loader's verdict and the bottleneck. The ledgers and the tables of the chunks are given. From `from` to
/// `until` of the progress.
prof::Status fillRunTables(Analysis& analysis, const StepWork& stepWork, WorkProgress& progress, double from,
                           double until);

}  // namespace lacuna::analyzer
