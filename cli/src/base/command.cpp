// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/command.h"

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/budget_option.h"
#include "base/definition.h"
#include "base/output.h"
#include "base/report_text.h"
#include "base/sandbox_option.h"

namespace lacuna::cli {
namespace {

constexpr std::size_t kOptionColumns = 28;

/// Breaks the lines that are too long. The rest of a line stands below its text: below the second
/// column in a list of options or commands, else below the first character.
std::string brokenLines(const std::string& text, std::size_t columns) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); out += '\n') {
    if (line.empty() && out.ends_with("\n\n")) out.pop_back();
    const bool isListed = line.size() > kOptionColumns && line.starts_with("  ") &&
                          line[kOptionColumns - 1] == ' ' && line[kOptionColumns] != ' ';
    const std::size_t indent =
        isListed ? kOptionColumns : std::min(line.find_first_not_of(' '), columns / 2);
    out += line.substr(0, indent) +
           wrapped(std::string_view(line).substr(std::min(indent, line.size())), columns - indent,
                   indent);
  }
  return out;
}

std::string namesOf(const std::set<CLI::Option*>& options) {
  std::string names;
  for (const CLI::Option* option : options) {
    const bool isHidden = option->get_group().empty();
    if (!isHidden) names += (names.empty() ? "" : ", ") + option->get_name();
  }
  return names;
}

class HelpLayout : public CLI::Formatter {
 public:
  explicit HelpLayout(std::string usage = {}) : usage_(std::move(usage)) {
    column_width(kOptionColumns);
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return brokenLines(CLI::Formatter::make_help(app, std::move(name), mode), helpColumns());
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return usage_.empty() ? CLI::Formatter::make_usage(app, name)
                          : "Usage: " + name + " " + usage_ + "\n";
  }
  /// A group of options is an application without a name.
  std::string make_expanded(const CLI::App* app) const override {
    if (!app->get_name().empty()) return CLI::Formatter::make_expanded(app);
    return make_group("Exactly one of", false, app->get_options([app](const CLI::Option* one) {
      return one != app->get_help_ptr();
    }));
  }
  /// The name of the value alone: checks, and options that go with it or not, follow the
  /// description.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    const bool isPlain = option->get_positional() && option->get_type_name() == "TEXT";
    const std::string value = isPlain ? std::string() : valueName(*option);
    std::string out = value.empty() ? "" : " " + value;
    if (!option->get_default_str().empty()) out += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) out += " ...";
    return out;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (const std::string range = valueRange(*option); !range.empty()) text += "; " + range;
    if (option->get_required() && !option->get_positional()) text += "; required";
    if (!option->get_needs().empty()) text += "; needs " + namesOf(option->get_needs());
    if (const std::string others = namesOf(option->get_excludes()); !others.empty())
      text += "; not with " + others;
    return text;
  }

 private:
  std::string usage_;
};

std::map<const CLI::Option*, Suggestions>& allSuggestions() {
  static std::map<const CLI::Option*, Suggestions> suggestions;
  return suggestions;
}

}  // namespace

const Suggestions& suggestionsOf(const CLI::Option& option) {
  static const Suggestions kNone;
  const auto found = allSuggestions().find(&option);
  return found == allSuggestions().end() ? kNone : found->second;
}

std::size_t helpColumns() {
  constexpr int kFewest = 60;
  constexpr int kMost = 120;  // longer lines are hard to read
  return static_cast<std::size_t>(std::clamp(terminalWidth(stdout), kFewest, kMost));
}

std::size_t listColumns() {
  constexpr std::size_t kMost = 80;
  return std::min(kMost, helpColumns());
}

void layOutHelp(CLI::App& app) {
  app.formatter(std::make_shared<HelpLayout>());
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::typeName(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::between(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::notNegative() {
  option_->check([](const std::string& value) {
    return std::string(value.starts_with('-') ? "is below 0" : "");
  });
  return *this;
}

Option& Option::notEmpty() {
  option_->check([](const std::string& value) {
    return std::string(value.empty() ? "the value is empty" : "");
  });
  return *this;
}

Option& Option::commaSeparated() {
  // A word after it is none of it, so that FILE may stand there.
  option_->delimiter(',')->allow_extra_args(false);
  return *this;
}

Option& Option::words(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::hidden() {
  option_->group("");
  return *this;
}

Option& Option::repeated() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::showDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::suggests(std::function<std::vector<std::string>()> words) {
  allSuggestions()[option_] = {std::move(words), false};
  return *this;
}

Option& Option::suggestsList(std::function<std::vector<std::string>()> words) {
  allSuggestions()[option_] = {std::move(words), true};
  return *this;
}

Command::Command(CLI::App& app, const std::string& name, const std::string& description)
    : app_(app.add_subcommand(name, description)) {
  app_->footer("Exit codes: 0 done, 1 an error (described on standard error), 2 wrong usage.");
}

template <class T>
Option Command::option(const std::string& names, T& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}
template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, std::filesystem::path&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, std::uint32_t&, const std::string&);
template Option Command::option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, std::int64_t&, const std::string&);
template Option Command::option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::option(const std::string&, std::optional<int>&, const std::string&);

Option Command::flag(const std::string& names, bool& value, const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}

Option Command::formerly(const std::string& name, std::string_view now,
                         std::function<void(const std::string&)> take) {
  const auto warn = [name, now = std::string(now),
                     take = std::move(take)](const std::string& value) {
    printWarning(
        fmt::format("{} is now {}; a later version knows the new spelling alone", name, now));
    take(value);
  };
  return Option(app_->add_option_function<std::string>(name, warn))
      .typeName("OUT")
      .notEmpty()
      .hidden();
}

Command Command::oneOf(const std::string& name) {
  Command group(app_->add_option_group(name));
  group.app_->require_option(1);
  return group;
}

void Command::usage(const std::string& words) {
  app_->formatter(std::make_shared<HelpLayout>(words));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::footnote(const std::string& text) {
  app_->footer(text + "\n\n" + app_->get_footer());
}

void Command::example(const std::string& line) {
  app_->footer(app_->get_footer() + "\nExample: " + line);
}

void Command::opensTraces() {
  addBudget(*app_);
  addSandbox(*app_);
}

void Command::takeTheRest() {
  app_->prefix_command();
}

std::vector<std::string> Command::remaining() const {
  return app_->remaining();
}

std::vector<std::string> Command::optionNames() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

void Command::does(std::function<void()> work) {
  app_->callback([app = app_, work = std::move(work)] {
    enterSandbox(*app);
    work();
  });
}

}  // namespace lacuna::cli
