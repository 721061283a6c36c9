// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna::samples {

inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
// Far beyond what helps, and far below what brings a machine down.
inline constexpr std::int64_t kMostWorkers = 1024;
inline constexpr std::int64_t kMostPrefetch = 1024;
// Their product still fits.
inline constexpr std::int64_t kMostBatch = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

/// Command line of a sample: `--name value` or `--name=value`. Flags that are knobs are reported to
/// the profiler under the same name. Flags in the variable LACUNA_SAMPLE_FLAGS come first, so that
/// the command line wins; with LACUNA_SAMPLE_SILENT set nothing is reported to the profiler. Errors
/// and --help are printed and end the program.
class Flags {
 public:
  explicit Flags(std::string about) : about_(std::move(about)) {}
  /// `choices` (separated by |) restricts the values; empty allows all.
  Flags& add(std::string name, std::string value, std::string help, std::string choices = "",
             bool knob = false);
  Flags& knob(std::string name, std::string value, std::string help, std::string choices = "") {
    return add(std::move(name), std::move(value), std::move(help), std::move(choices), true);
  }
  void parse(int argc, char** argv);
  /// Reports to the profiler a knob that the program itself has chosen.
  static void announce(const std::string& name, const std::string& value);

  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t least = 0,
                                     std::int64_t most = kMost) const;
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
/// The whole number in `value` for the flag `name`; a usageError names the flag where it is none in
/// these bounds.
[[nodiscard]] std::int64_t wholeNumber(std::string_view name, const std::string& value,
                                       std::int64_t least, std::int64_t most = kMost);

}  // namespace lacuna::samples
