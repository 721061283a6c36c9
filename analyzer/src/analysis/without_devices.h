// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Fills in before and after; the window, the devices and the scope are given. Without devices both
/// stay empty.
prof::Status findWithoutDevices(Analysis& analysis);

}  // namespace lacuna::analyzer
