// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lacuna/prof/result.h"
#include "tune/candidates.h"

namespace lacuna::cli::tune {

/// Prices what could be set beside `kept`, by replaying the recording. In a child process that
/// gives up other files, programs and the network first, as every command does that opens a trace.
prof::Result<std::vector<Priced>> price(const std::filesystem::path& trace,
                                        std::span<const collector::Setting> kept,
                                        std::span<const std::string> names);

}  // namespace lacuna::cli::tune
