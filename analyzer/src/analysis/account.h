// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyses/parts.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Fills an analysis whose store and options are given: all but its critical path and its findings,
/// which rest on it. `parts`: each after its inputs.
prof::Status account(Analysis& analysis, WorkProgress& progress, PartList parts = allParts());

}  // namespace lacuna::analyzer
