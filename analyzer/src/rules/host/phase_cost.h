// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "analyses/time/phases.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {

/// A phase that takes time in the steps, between them, or both.
struct PhaseCost {
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t inStepsNs = 0;  ///< of totalNs
  std::vector<Evidence> longest{};
};
PhaseCost costOfPhase(const Analysis& analysis, std::string_view name);

/// A finding of the phase with its count, cost, evidence, and a gain of all of that at most. Nothing where the phase
/// takes less than `least` of an iteration.
std::optional<Finding> phaseFinding(const Facts& facts, std::string_view name, double least);

}  // namespace lacuna::analyzer
