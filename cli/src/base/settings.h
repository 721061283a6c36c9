// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/collector/settings.h"
#include "lacuna/prof/result.h"

namespace lacuna::cli {

/// A setting of `lacuna run --set`: a change of what-if that a start-up hook can apply, or one that
/// only a running program has. Texts live as long as the program.
struct SettingType {
  std::string_view name;
  std::span<const std::string_view> values{};  ///< that it can have; none where it is a number
  std::uint32_t least = 0, most = 0;           ///< of a number
  std::string_view brief{};
  std::string_view inScript{};   ///< the same change in a script; {} stands for a number
  std::string_view inRuntime{};  ///< and in a program of the tensor runtime; empty where that has
                                 ///< no such setting
  std::string_view refusal{};    ///< why it cannot be set from outside; empty where it can
};

/// All of them, in the order of lists; those that are refused come last.
std::span<const SettingType> settingTypes();
/// Null where there is none of that name.
const SettingType* findSetting(std::string_view name);

/// "loader.workers=N", "matmul=highest|high|medium".
std::string settingForm(const SettingType& type);

/// Reads lists such as "loader.workers=4,amp=on". A name that comes twice has its last value. The
/// error names the nearest setting, the values that there are, or how the change is made in a
/// script.
prof::Result<std::vector<collector::Setting>> parseSettings(const std::vector<std::string>& lists);

enum class Language : std::uint8_t { Python, Runtime };
/// The line that makes the setting in a script: "DataLoader(…, num_workers=4)", or in a program of
/// the tensor runtime.
std::string scriptLine(const collector::Setting& setting, Language language = Language::Python);

/// The beginnings of all settings, as shells propose them: "loader.workers=", "amp=on".
std::vector<std::string> settingBeginnings();
/// For people, at 80 columns.
std::string settingListText();

}  // namespace lacuna::cli
