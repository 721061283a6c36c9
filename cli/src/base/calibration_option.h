// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/command.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::cli {

/// Adds --calibration to a command that predicts.
void addCalibration(Command& command, std::string& path);

/// The file's, else the environment's; null for the built-in one.
prof::Result<std::shared_ptr<const analyzer::Calibration>> calibrationFrom(const std::string& path);

}  // namespace lacuna::cli
