// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/synthetic_run.h"

namespace lacuna::test {

/// A run that a seed draws: what bounds it, how its loader works, which faults it has.
RunPlan drawnPlan(std::uint64_t seed);

/// The same run on a machine that is slower in everything.
RunPlan stretched(RunPlan plan);

/// Truths of every prediction that do not hold in this run, one a line.
std::vector<std::string> brokenProperties(const RunPlan& plan);

}  // namespace lacuna::test
