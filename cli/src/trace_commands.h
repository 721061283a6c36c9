// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace lacuna::cli {

/// The commands that open traces: they have --budget and --sandbox.
inline constexpr std::array<const char*, 8> kTraceCommands{"report", "info",  "query", "whatif",
                                                           "diff",   "check", "merge", "convert"};

}  // namespace lacuna::cli
