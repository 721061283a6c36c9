// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "lacuna/runtime/instrument.h"

namespace lacuna::samples {

void usageError(const std::string& message) {
  std::fprintf(stderr, "error: %s\nTry --help.\n", message.c_str());
  std::exit(2);
}

std::int64_t wholeNumber(std::string_view name, const std::string& value, std::int64_t least,
                         std::int64_t most) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < least || out > most) {
    const std::string bounds =
        most == kMost ? ", at least " + std::to_string(least)
                      : " from " + std::to_string(least) + " to " + std::to_string(most);
    usageError("--" + std::string(name) + " " + value + ": expected a whole number" + bounds);
  }
  return out;
}

Flags& Flags::add(std::string name, std::string value, std::string help, std::string choices,
                  bool knob) {
  flags_.push_back({std::move(name), std::move(value), std::move(help), std::move(choices), knob});
  return *this;
}

void Flags::parse(int argc, char** argv) {
  std::vector<std::string> words;
  const char* before = std::getenv("LACUNA_SAMPLE_FLAGS");
  std::istringstream stream(before == nullptr ? "" : before);
  for (std::string word; stream >> word;) words.push_back(word);
  words.insert(words.end(), argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string argument = words[i];
    if (argument == "--help" || argument == "-h") {
      printHelp(argv[0]);
      std::exit(0);
    }
    if (!argument.starts_with("--")) usageError("'" + argument + "' is no flag");
    argument.erase(0, 2);
    const std::size_t equals = argument.find('=');
    if (equals != std::string::npos) {
      set(argument.substr(0, equals), argument.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      set(argument, words[++i]);
    } else {
      usageError("--" + argument + " needs a value");
    }
  }
  for (const Flag& flag : flags_) {
    if (flag.knob) announce(flag.name, flag.value);
  }
}

void Flags::announce(const std::string& name, const std::string& value) {
  const bool silent = std::getenv("LACUNA_SAMPLE_SILENT") != nullptr;
  rt::reportOwnKnobs(!silent);
  if (!silent) rt::knob(name, value);
}

const Flags::Flag& Flags::find(std::string_view name) const {
  const auto found = std::find_if(flags_.begin(), flags_.end(),
                                  [&](const Flag& flag) { return flag.name == name; });
  if (found == flags_.end()) usageError("there is no flag --" + std::string(name));
  return *found;
}

void Flags::set(const std::string& name, const std::string& value) {
  auto& flag = const_cast<Flag&>(find(name));
  const bool isChoice = value.find('|') == std::string::npos &&
                        ("|" + flag.choices + "|").find("|" + value + "|") != std::string::npos;
  if (!flag.choices.empty() && !isChoice) {
    usageError("--" + name + " " + value + ": choose one of " + flag.choices);
  }
  flag.value = value;
}

const std::string& Flags::text(std::string_view name) const {
  return find(name).value;
}

std::int64_t Flags::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
  return wholeNumber(name, text(name), least, most);
}

double Flags::number(std::string_view name) const {
  const std::string& value = text(name);
  char* end = nullptr;
  const double out = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(out))
    usageError("--" + std::string(name) + " " + value + ": expected a number");
  return out;
}

void Flags::printHelp(const char* program) const {
  std::printf("usage: %s [--flag value]…\n\n%s\n\n", program, about_.c_str());
  for (const Flag& flag : flags_) {
    std::printf("  --%-18s %s (default: %s)\n", flag.name.c_str(), flag.help.c_str(),
                flag.value.empty() ? "none" : flag.value.c_str());
    if (!flag.choices.empty()) std::printf("  %20s %s\n", "", flag.choices.c_str());
  }
}

}  // namespace lacuna::samples
