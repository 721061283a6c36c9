// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lacuna::cli {

/// Shell completion and manual pages describe the command line with these.
using Options = std::vector<const CLI::Option*>;

/// The commands, in the order of --help.
std::vector<const CLI::App*> commandsIn(const CLI::App& app);
std::vector<std::string> commandNames(const CLI::App& app);
/// The message for a command that does not exist.
std::string unknownCommand(const CLI::App& app, const std::string& word);
/// The options and words that --help of a command shows, also those of its groups.
Options optionsOf(const CLI::App& command);
/// The name that an option's value has in --help: FILE, TIME.
std::string valueName(const CLI::Option& option);
/// The numbers that it may be, in words: "40 to 200". Empty where any will do.
std::string valueRange(const CLI::Option& option);
/// False for a flag.
bool takesValue(const CLI::Option& option);

}  // namespace lacuna::cli
