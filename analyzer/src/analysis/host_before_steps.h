// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Fills in what the thread of the steps did before the first of them, as far as counters show; the
/// steps, the devices and the unknown time are given.
prof::Status findHostBeforeSteps(Analysis& analysis);

}  // namespace lacuna::analyzer
