// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Inputs and outputs are spelled alike in all commands.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/definition.h"
#include "commands.h"

namespace lacuna::cli {
namespace {

class Convention : public testing::Test {
 protected:
  Convention() {
    for (const AddCommand add : kCommands) add(app_, exitCode_);
  }

  /// The option of a command; null where it has none of that name.
  static const CLI::Option* optionOf(const CLI::App& command, const std::string& name) {
    const Options options = optionsOf(command);
    const auto found = std::ranges::find_if(
        options, [&](const CLI::Option* one) { return one->check_name(name); });
    return found == options.end() ? nullptr : *found;
  }

  /// The words that a command takes in their places, by their names.
  static std::vector<std::string> placesOf(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : optionsOf(command)) {
      if (option->get_positional()) names.push_back(option->get_name());
    }
    return names;
  }

  CLI::App app_;
  int exitCode_ = 0;
};

TEST_F(Convention, EveryOutputIsNamedByTheSameOption) {
  int writing = 0;
  for (const CLI::App* command : commandsIn(app_)) {
    for (const CLI::Option* option : optionsOf(*command)) {
      if (valueName(*option) != "OUT") continue;
      ++writing;
      EXPECT_EQ(option->get_name(false, true), "-o,--output") << command->get_name();
      EXPECT_FALSE(option->get_positional()) << command->get_name();
    }
    const CLI::Option* output = optionOf(*command, "-o");
    EXPECT_TRUE(output == nullptr || valueName(*output) == "OUT") << command->get_name();
  }
  EXPECT_GE(writing, 8);
}

TEST_F(Convention, WhatReplacesAFileIsAskedForAlike) {
  std::string words;
  for (const CLI::App* command : commandsIn(app_)) {
    const CLI::Option* force = optionOf(*command, "--force");
    EXPECT_EQ(force != nullptr, optionOf(*command, "-o") != nullptr) << command->get_name();
    if (force == nullptr) continue;
    if (words.empty()) words = force->get_description();
    EXPECT_EQ(force->get_description(), words) << command->get_name();
  }
}

TEST_F(Convention, TheFirstWordOfACommandThatReadsTracesIsATrace) {
  const std::vector<std::string> traces{"FILE", "FILES", "BEFORE"};
  for (const CLI::App* command : commandsIn(app_)) {
    if (optionOf(*command, "--sandbox") == nullptr || command->get_name() == "mcp") continue;
    const std::vector<std::string> places = placesOf(*command);
    ASSERT_FALSE(places.empty()) << command->get_name();
    EXPECT_NE(std::ranges::find(traces, places.front()), traces.end())
        << command->get_name() << ' ' << places.front();
  }
}

TEST_F(Convention, NamesOfPlacesAreInCapitals) {
  for (const CLI::App* command : commandsIn(app_)) {
    for (const std::string& name : placesOf(*command))
      EXPECT_TRUE(std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; }))
          << name;
  }
}

}  // namespace
}  // namespace lacuna::cli
