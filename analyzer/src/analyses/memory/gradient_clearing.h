// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// The ranges in which gradients are filled with zeros, in any order, pointing into the timeline.
/// These are the ranges named zero_grad, and operators that fill in place. An operator that another
/// one called does not count, as its caller prepares memory of its own.
std::vector<const HostSpan*> gradientClearing(const Store& store, const Timeline& timeline);

}  // namespace lacuna::analyzer
