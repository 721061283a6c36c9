// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// What `lacuna report` says, as data: the numbers of the CLI, the GUI and the HTML page come from here. Fails where
/// the options name steps, a device or a rank that the trace does not have, and with "cancelled" soon after the
/// options' progress answers false; that is not kept in the analysis.
prof::Result<Analysis> analyse(std::shared_ptr<const Store> store, const AnalysisOptions& options = {});

}  // namespace lacuna::analyzer
