// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// `lacuna manual` prints manual pages. They are made of the definitions that --help shows, so the
// two never differ.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/definition.h"
#include "base/output.h"
#include "commands.h"

namespace lacuna::cli {
namespace manual {
namespace {

/// Text as groff prints it: nothing in it is a request or an escape.
std::string plain(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", plain(text));
}

std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", plain(text));
}

/// "-o, --output OUT"
std::string nameOf(const CLI::Option& option) {
  const std::string value = valueName(option);
  if (option.get_positional() && option.get_lnames().empty()) return italic(option.get_name(true));
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
  for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  return takesValue(option) && !value.empty() ? all + " " + italic(value) : all;
}

std::string describe(const Options& options) {
  std::string out;
  for (const CLI::Option* option : options) {
    out += fmt::format(".TP\n{}\n{}\n", nameOf(*option), plain(option->get_description()));
    if (const std::string usual = option->get_default_str(); takesValue(*option) && !usual.empty())
      out += fmt::format("Default: {}.\n", plain(usual));
    if (const std::string range = valueRange(*option); !range.empty())
      out += fmt::format("From {}.\n", plain(range));
  }
  return out;
}

/// The text below the options of --help: its lines as they are, except those that have a section of
/// their own.
std::string notes(const std::string& footer) {
  const std::size_t example = std::min(footer.find("\nExample: "), footer.size());
  const std::size_t codes = std::min(footer.find("Exit code"), example);
  std::string out;
  const auto section = [&](std::string_view title, std::string_view text) {
    const std::size_t begin = text.find_first_not_of('\n');
    if (begin == std::string_view::npos) return;
    text = text.substr(begin, text.find_last_not_of('\n') + 1 - begin);
    out += fmt::format(".SH {}\n.nf\n{}\n.fi\n", title, plain(text));
  };
  section("NOTES", std::string_view(footer).substr(0, codes));
  section("EXIT STATUS", std::string_view(footer).substr(codes, example - codes));
  std::string examples = footer.substr(example);
  constexpr std::string_view kExample = "Example: ";
  for (std::size_t at = 0; (at = examples.find(kExample, at)) != std::string::npos;)
    examples.erase(at, kExample.size());
  section("EXAMPLE", examples);
  return out;
}

std::string headOf(std::string_view name, std::string_view version, std::string_view description) {
  std::string title(name);
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"{}\" \"Lacuna\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                     plain(title), version, plain(name), plain(description));
}

/// "[OPTIONS] FILE", as --help shows it.
std::string usageOf(const CLI::App& command) {
  const auto layout = std::dynamic_pointer_cast<CLI::Formatter>(command.get_formatter());
  if (layout == nullptr) return {};
  std::string usage = layout->make_usage(&command, "");
  usage.erase(0, std::min(usage.size(), std::string_view("Usage:").size()));
  const std::size_t begin = std::min(usage.find_first_not_of(' '), usage.size());
  const std::size_t end = usage.find_last_not_of('\n');
  return end == std::string::npos ? std::string() : usage.substr(begin, end + 1 - begin);
}

std::string pageOf(const CLI::App& command, std::string_view version) {
  const std::string& name = command.get_name();
  return headOf("lacuna-" + name, version, command.get_description()) +
         fmt::format("{} {}\n.SH OPTIONS\n", bold("lacuna " + name), plain(usageOf(command))) +
         describe(optionsOf(command)) + notes(command.get_footer()) + ".SH SEE ALSO\n" +
         bold("lacuna") + "(1)\n";
}

std::string overview(const CLI::App& app) {
  std::string out = headOf("lacuna", app.version(), app.get_description()) + bold("lacuna") + " " +
                    italic("COMMAND") + " [" + italic("OPTIONS") + "]\n.SH COMMANDS\n";
  for (const CLI::App* command : commandsIn(app)) {
    out += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", plain("lacuna-" + command->get_name()),
                       plain(command->get_description()));
  }
  return out + ".SH OPTIONS\n" + describe(optionsOf(app)) + notes(app.get_footer());
}

int print(const CLI::App& app, const std::string& name) {
  if (name.empty()) {
    fmt::print("{}", overview(app));
    return kOk;
  }
  const auto commands = commandsIn(app);
  const auto found =
      std::ranges::find(commands, name, [](const CLI::App* one) { return one->get_name(); });
  if (found == commands.end()) return printMisuse(unknownCommand(app, name));
  fmt::print("{}", pageOf(**found, app.version()));
  return kOk;
}

}  // namespace
}  // namespace manual

void addManual(CLI::App& app, int& exitCode) {
  auto name = std::make_shared<std::string>();
  Command command(app, "manual", "Print the manual page of a command, for man -l -");
  command.option("COMMAND", *name, "without it, the page of lacuna itself").suggests([&app] {
    return commandNames(app);
  });
  command.footnote("An installed lacuna has these pages in share/man: man lacuna-report.");
  command.example("lacuna manual report | man -l -");
  command.does([name, &app, &exitCode] { exitCode = manual::print(app, *name); });
}

}  // namespace lacuna::cli
