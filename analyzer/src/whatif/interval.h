// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::analyzer {

/// An interval is this many standard deviations wide on each side: about nineteen of twenty runs.
inline constexpr double kSigmas = 2;

}  // namespace lacuna::analyzer
