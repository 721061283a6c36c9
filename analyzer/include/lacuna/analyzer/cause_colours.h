// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/analyzer/ledger.h"

namespace lacuna::analyzer {

/// The colour of a cause wherever it is shown: in the window and on the page. 0xFFRRGGBB, for a dark or a light ground.
/// Any two can be told apart with any common colour blindness.
std::uint32_t causeColour(Cause cause, bool dark);
/// The nearest of a terminal's 256 colours that are as far from each other.
int terminalColour(Cause cause);

}  // namespace lacuna::analyzer
