// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::samples {

/// Command line of a sample: `--name value` or `--name=value`. Flags that are knobs are told to the profiler under the
/// same name. Flags in the variable LACUNA_SAMPLE_FLAGS come first, so that the command line wins; with
/// LACUNA_SAMPLE_SILENT set the profiler is told nothing. Errors and --help are printed and end the program.
class Flags {
 public:
  explicit Flags(std::string about) : about_(std::move(about)) {}
  /// `choices` (separated by |) restricts the values; empty allows all.
  Flags& add(std::string name, std::string value, std::string help, std::string choices = "", bool knob = false);
  Flags& knob(std::string name, std::string value, std::string help, std::string choices = "") {
    return add(std::move(name), std::move(value), std::move(help), std::move(choices), true);
  }
  void parse(int argc, char** argv);
  /// Tells the profiler a knob that the program itself has chosen.
  static void announce(const std::string& name, const std::string& value);

  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t least = 0) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] bool on(std::string_view name) const { return text(name) == "on"; }

 private:
  struct Flag {
    std::string name, value, help, choices;
    bool knob;
  };
  [[nodiscard]] const Flag& find(std::string_view name) const;
  void set(const std::string& name, const std::string& value);
  void printHelp(const char* program) const;
  std::string about_;
  std::vector<Flag> flags_;
};

/// Prints the message and what to do, and ends the program with status 2.
[[noreturn]] void usageError(const std::string& message);

}  // namespace lacuna::samples
