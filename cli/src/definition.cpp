// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "definition.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "nearest.h"

namespace lacuna::cli {

std::vector<const CLI::App*> commandsIn(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
}

std::vector<std::string> commandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commandsIn(app)) names.push_back(command->get_name());
  return names;
}

std::string unknownCommand(const CLI::App& app, const std::string& word) {
  const std::string closest = nearest(commandNames(app), word);
  return "there is no command '" + word + "'" + (closest.empty() ? ". " : "; did you mean '" + closest + "'? ") +
         "`lacuna --help` lists the commands";
}

Options optionsOf(const CLI::App& command) {
  Options out;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) out.push_back(option);
  }
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    for (const CLI::Option* option : optionsOf(*group)) out.push_back(option);
  }
  return out;
}

bool takesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

}  // namespace lacuna::cli
