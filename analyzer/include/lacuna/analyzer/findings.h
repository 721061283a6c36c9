// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/finding.h"

namespace lacuna::analyzer {

struct Analysis;
class Simulator;

/// What a report says of a finding's gain: "3.10 ms a step (20.1 %), confidence 90 %, between 2.90 ms and 3.30 ms",
/// "frees 1.20 GiB, confidence 70 %", or why none is predicted. `per`: "a step", or "in all" without steps.
std::string describeGain(const Finding& finding, std::string_view per);

/// Applies every rule; faults before opportunities, costliest first. docs/analyses/findings.md lists the rules.
std::vector<Finding> findFindings(const Analysis& analysis, const Simulator* simulator);

}  // namespace lacuna::analyzer
