// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox_option.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdlib>
#include <string>

#include "base/sandbox.h"

namespace lacuna::cli {
namespace {

constexpr const char* kOption = "--sandbox";
/// The options that name what a command writes.
constexpr std::array<const char*, 3> kOutputOptions{"--output", "--html", "--junit"};

bool isOutput(const CLI::Option& option) {
  for (const char* name : kOutputOptions) {
    if (option.check_name(name)) return true;
  }
  return false;
}

/// A trace, and what SQLite keeps beside a database.
void addRead(const std::string& word, Needs& needs) {
  for (const char* ending : {"", "-wal", "-journal"}) needs.reads.emplace_back(word + ending);
}

/// Every word may name a file: one that is none needs no permission.
Needs needsOf(const CLI::App& command) {
  Needs needs;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& word : option->results()) {
      if (word.empty()) continue;
      if (isOutput(*option)) needs.writes.emplace_back(word);
      if (!isOutput(*option)) addRead(word, needs);
    }
  }
  if (const char* calibration = std::getenv("LACUNA_CALIBRATION"); calibration != nullptr)
    addRead(calibration, needs);
  return needs;
}

std::string modeOf(const CLI::Option& option) {
  if (!option.results().empty()) return option.results().back();
  const char* given = std::getenv("LACUNA_SANDBOX");
  return given != nullptr && *given != '\0' ? given : "auto";
}

}  // namespace

void addSandbox(CLI::App& command) {
  command
      .add_option(
          kOption,
          "auto, on or off: read traces without other files, the network and other programs, as "
          "far as the kernel can (default: LACUNA_SANDBOX, else auto; on fails where it cannot)")
      ->type_name("MODE");
}

void enterSandbox(const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw(kOption);
  if (option == nullptr) return;
  const auto status = confine(modeOf(*option), needsOf(command));
  if (!status) throw CLI::ValidationError(status.error().message);
}

}  // namespace lacuna::cli
