// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "output.h"

namespace {

/// Insertions, deletions, replacements and exchanges of neighbours between two short words.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::vector<std::string> commandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// What is wrong with a first word that is none of these.
std::string unknownCommand(const std::vector<std::string>& commands, const std::string& word) {
  std::string closest;
  std::size_t best = 3;
  for (const std::string& command : commands) {
    const std::size_t far = distance(word, command);
    if (far >= best) continue;
    best = far;
    closest = command;
  }
  return "there is no command '" + word + "'" + (closest.empty() ? "" : "; did you mean '" + closest + "'?") +
         (closest.empty() ? ". " : " ") + "`lacuna --help` lists the commands";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lacuna::cli;
  CLI::App app("Lacuna finds where the time and memory of neural-network training go.", "lacuna");
  app.set_version_flag("--version", "lacuna " LACUNA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 an error (said on standard error), 2 wrong usage.\n"
      "`lacuna COMMAND --help` explains a command.");
  app.get_formatter()->column_width(28);
  int exitCode = kOk;
  for (const AddCommand add : kCommands) add(app, exitCode);
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  const std::vector<std::string> commands = commandsOf(app);
  if (argv[1][0] != '-' && std::find(commands.begin(), commands.end(), argv[1]) == commands.end()) {
    printError(unknownCommand(commands, argv[1]));
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help and --version
    return app.exit(wanted);
  } catch (const CLI::ExtrasError& error) {
    const bool runs = app.got_subcommand("run");
    printError(std::string(error.what()) +
               (runs ? ". If it is the program's, put -- before the program: lacuna run -- ./train --epochs 3" : ""));
    return kUsage;
  } catch (const CLI::ParseError& error) {
    printError(error.what());
    return kUsage;
  }
  return exitCode;
}
