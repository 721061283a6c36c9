// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/analyzer/findings.h"

namespace lacuna::analyzer {

/// The finding's words with its quantities in their places. "{name}" is the quantity of that name.
/// These every finding has:
/// "{cost}", "{share of it}" (of the step, or of the time from one step to the next), "{a step}"
/// ("in all" where the trace has no steps), and "{: cost a step}" (": 1.20 ms a step", or nothing
/// where it costs no time).
std::string titleOf(const Finding& finding, bool hasSteps);

}  // namespace lacuna::analyzer
