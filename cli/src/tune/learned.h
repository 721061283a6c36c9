// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/whatif.h"
#include "tune/tuner.h"

namespace lacuna::cli::tune {

/// The tries whose gain was predicted and measured: they show how far predictions are off here.
std::vector<analyzer::Calibration::Outcome> outcomesOf(const Result& result);

}  // namespace lacuna::cli::tune
