// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/command.h"
#include "lacuna/collector/standby.h"

namespace lacuna::cli {

/// Adds --step and --steps, which are wrong without `needed` where that is given.
void addSteps(Command& command, collector::JobTrigger& trigger,
              const std::optional<Option>& needed = std::nullopt);

/// Has the steps recorded, prints what happens on standard error and the files on standard output.
/// An exit code.
int triggerSteps(collector::JobTrigger trigger);

}  // namespace lacuna::cli
