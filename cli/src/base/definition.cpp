// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/definition.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string_view>

#include "base/nearest.h"

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
  const std::string meant = didYouMean(commandNames(app), word);
  return "there is no command '" + word + "'" + (meant.empty() ? "." : meant) +
         " `lacuna --help` lists the commands";
}

Options optionsOf(const CLI::App& command) {
  Options out;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) out.push_back(option);
  }
  for (const CLI::App* group :
       command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    for (const CLI::Option* option : optionsOf(*group)) out.push_back(option);
  }
  return out;
}

namespace {

/// Where the parser has added the range of numbers: "INT:INT in [1 - 99]".
constexpr std::string_view kRange = ":INT in [";

}  // namespace

std::string valueName(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(kRange));
}

std::string valueRange(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t at = type.find(kRange);
  if (at == std::string::npos) return {};
  std::string range = type.substr(at + kRange.size());
  range.resize(std::min(range.find(']'), range.size()));
  if (const std::size_t dash = range.find(" - "); dash != std::string::npos)
    range.replace(dash, 3, " to ");
  return range;
}

bool takesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

}  // namespace lacuna::cli
