// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyses/part.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Fills in the ledgers of the devices, queues and steps from one chunk of the trace after the
/// other, and gives each chunk to the analyses `parts`. The devices, the steps, the window and the
/// scope are given.
prof::Status accountDevices(Analysis& analysis, PartList parts, const Topology& topology,
                            WorkProgress& progress);

}  // namespace lacuna::analyzer
