// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "analyses/time/phases.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {

/// A finding of its rule's phases with their cost, their evidence, a gain of all of that at most,
/// and the count of the first one. Nothing where the phases take less than `least` of an iteration.
std::optional<Finding> phaseFinding(const Facts& facts, double least);

}  // namespace lacuna::analyzer
