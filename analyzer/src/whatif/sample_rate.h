// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::analyzer {

struct Analysis;

/// Samples per second of all processes, from the batch that the program announced and from one
/// step's begin to the next one's; 0: not known.
double samplesPerSecond(const Analysis& analysis);

}  // namespace lacuna::analyzer
