// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace lacuna::cli {

/// Adds --sandbox to a command that opens traces.
void addSandbox(CLI::App& command);

/// Confines the process to the files that the words of `command` name, where it has that option:
/// after the options are read and before the work begins. Throws CLI::ValidationError where
/// --sandbox on cannot be had.
void enterSandbox(const CLI::App& command);

}  // namespace lacuna::cli
