// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "rules/outcome.h"
#include "rules/registry.h"

namespace lacuna::analyzer {

/// Runs these rules, each after those that must run before it, and sorts what they find. The order
/// in which the rules are given makes no difference.
std::vector<Finding> findFindings(const Analysis& analysis, const Simulator* simulator,
                                  Rules rules);

}  // namespace lacuna::analyzer
