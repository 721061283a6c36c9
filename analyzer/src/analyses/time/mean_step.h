// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// The steps that a mean step is of: the steady ones within the window whose end is known; where it
/// holds none of these, others. None: it is all of the run.
std::vector<bool> stepsOfMean(const Analysis& analysis);

/// The divisor for sums over so many steps and all devices.
std::int64_t partsOfMean(const Analysis& analysis, std::int64_t steps);

/// The mean of those steps for one device; without any, all of the run.
Ledger meanOf(const Analysis& analysis, const std::vector<Ledger>& steps, const Ledger& run);

}  // namespace lacuna::analyzer
