// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/prof/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace lacuna::cli {

/// Adds --budget to a command that opens traces. The limits hold for the process before the command
/// begins.
void addBudget(CLI::App& command);

/// Checks that LACUNA_BUDGET, where it is set, can be read.
prof::Status checkBudgetOfEnvironment();

}  // namespace lacuna::cli
