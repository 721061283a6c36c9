// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"

namespace lacuna::cli {

namespace {

/// The GUI is a program of its own, so that this one needs no Qt: beside it, or on the PATH.
int startGui(const std::vector<std::string>& arguments) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto beside = self.parent_path() / "lacuna-gui";
  const std::string program =
      std::filesystem::exists(beside, ignored) ? beside.string() : "lacuna-gui";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(program.c_str(), argv.data());
  printError(
      fmt::format("{}: {}; build it with LACUNA_BUILD_GUI=ON (needs Qt 6.4), or put it on the PATH",
                  program, std::strerror(errno)));
  return kError;
}

}  // namespace

void addGui(CLI::App& app, int& exitCode) {
  Command command(app, "gui", "Explore a trace in a window");
  command.takeTheRest();
  command.footer(
      "Everything behind `gui` goes to lacuna-gui: a trace, --page, --range, --screenshot (see "
      "lacuna-gui --help).");
  command.example("lacuna gui before.lcn after.lcn");
  command.does([command, &exitCode] { exitCode = startGui(command.remaining()); });
}

}  // namespace lacuna::cli
