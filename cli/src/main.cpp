// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "commands.h"
#include "output.h"

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
