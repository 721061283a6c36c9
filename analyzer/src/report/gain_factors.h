// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"

namespace lacuna::analyzer {

/// Where the factors come from that a finding's gain rests on; empty where it rests on none.
std::string gainFactors(const Analysis& analysis, const Finding& finding);

}  // namespace lacuna::analyzer
