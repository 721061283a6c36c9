// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// The one or two sentences that a report opens with.
std::string verdict(const Analysis& analysis);
/// What a list of findings says where there are none: "none: nothing stands out", or why that does not mean much.
/// Begins with a small letter, without a full stop.
std::string noFindings(const Analysis& analysis);
/// File, length, steps and devices in one line.
std::string describeRun(const Analysis& analysis);

}  // namespace lacuna::analyzer
