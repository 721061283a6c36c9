// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "analyses/time/phases.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {

/// A finding of the phase with its count, cost, evidence, and a gain of all of that at most. Nothing where the phase
/// takes less than `least` of an iteration.
std::optional<Finding> phaseFinding(const Facts& facts, std::string_view name, double least);

}  // namespace lacuna::analyzer
