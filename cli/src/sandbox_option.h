// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace lacuna::cli {

/// Adds --sandbox to every command of `app` that opens traces; to be called once they are there.
void addSandbox(CLI::App& app);

/// Confines the process to the files that the words of `command` name, where it is one of those: after the options are
/// read and before the work begins. Throws CLI::ValidationError where --sandbox on cannot be had.
void enterSandbox(const CLI::App& command);

}  // namespace lacuna::cli
