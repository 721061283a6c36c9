// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Settings that `lacuna run --set` gives to a PyTorch program, and what came of them.
namespace lacuna::collector {

/// One setting, as the start-up hook reads it: "loader.workers" and "4".
struct Setting {
  std::string name;
  std::string value;

  [[nodiscard]] std::string text() const { return name + "=" + value; }
  bool operator==(const Setting&) const = default;
};

/// The list as the variable LACUNA_SET holds it.
std::string settingsText(std::span<const Setting> settings);
/// The hook's variables: the settings, and the file for what came of them.
inline constexpr std::string_view kSettingsVariable = "LACUNA_SET";
inline constexpr std::string_view kOutcomesVariable = "LACUNA_SET_REPORT";

/// The outcome of applying a setting in one place of the program.
struct SettingOutcome {
  enum class Kind : std::uint8_t { Applied, Same, Refused };
  Kind kind = Kind::Applied;
  std::string setting;  ///< "loader.workers=4"
  std::uint64_t count = 0;
  std::string thing;  ///< "DataLoader"
  std::string was;    ///< of Applied
  std::string site;   ///< "train.py:57"; may be empty
  std::string why;    ///< of Refused
};

/// Reads what the programs' hooks wrote. They are not trusted: bounded, and what is no such line is
/// left out. Nothing where there is no file.
std::vector<SettingOutcome> readOutcomes(const std::filesystem::path& file);

/// The outcome of one setting, as one line for people.
struct SettingLine {
  std::string name;     ///< "loader.workers"
  std::string text;     ///< "loader.workers=4 (was 0) on 1 DataLoader (train.py:57)"
  bool failed = false;  ///< it was applied nowhere, and was not so before
};
SettingLine describe(const Setting& setting, std::span<const SettingOutcome> outcomes);

}  // namespace lacuna::collector
