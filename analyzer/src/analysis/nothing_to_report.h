// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Why a trace without events has no report, with its damage, and what to do about it.
std::string nothingToReport(const Store& trace);

}  // namespace lacuna::analyzer
