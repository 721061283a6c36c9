// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lacuna/analyzer/findings.h"
#include "support/synthetic_run.h"

namespace lacuna::test {

/// A made-up run and the faults that were planted in it.
struct PlantedRun {
  RunPlan plan;
  std::vector<analyzer::FindingId> planted;
};
std::span<const PlantedRun> plantedRuns();

/// A run with some of the faults that can be planted, and of some size, by chance.
RunPlan anyPlan(std::uint32_t seed);

}  // namespace lacuna::test
