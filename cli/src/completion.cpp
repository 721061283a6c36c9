// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "base/command.h"
#include "base/definition.h"
#include "base/output.h"
#include "commands.h"
#include "completion_scripts.h"

namespace lacuna::cli {
namespace {

/// "--output", or "-q" where there is no long one; empty for a word that stands in its place.
std::string nameOf(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  return option.get_snames().empty() ? std::string() : "-" + option.get_snames().front();
}

/// The words that begin with `open`, each after `kept`.
std::vector<std::string> matching(std::vector<std::string> words, std::string_view open,
                                  std::string_view kept = {}) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(open); });
  for (std::string& word : words) word.insert(0, kept);
  return words;
}

/// A command and what is typed after it.
class TypedCommand {
 public:
  TypedCommand(const CLI::App& command, std::span<const std::string> words)
      : options_(optionsOf(command)) {
    for (const std::string& word : words.first(words.size() - 1)) take(word);
    open_ = words.back();
  }

  [[nodiscard]] std::vector<std::string> candidates() const {
    if (isForeign_) return {};
    if (valueOf_ != nullptr) return valuesOf(*valueOf_, open_, {});
    if (!open_.starts_with('-')) return inPlace();
    const std::size_t equals = open_.find('=');
    if (equals == std::string_view::npos) return names();
    const CLI::Option* option = find(open_.substr(0, equals));
    if (option == nullptr) return {};
    return valuesOf(*option, open_.substr(equals + 1), open_.substr(0, equals + 1));
  }

 private:
  void take(std::string_view word) {
    if (word == "--") isForeign_ = true;
    if (valueOf_ != nullptr) {
      valueOf_ = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* option = find(word);
      if (option != nullptr && takesValue(*option)) valueOf_ = option;
    } else {
      ++placed_;
    }
  }

  [[nodiscard]] const CLI::Option* find(std::string_view word) const {
    const auto isCalled = [&](const CLI::Option* option) {
      return option->check_name(std::string(word)) && !option->get_positional();
    };
    const auto found = std::ranges::find_if(options_, isCalled);
    return found == options_.end() ? nullptr : *found;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const CLI::Option* option : options_) {
      if (!option->get_positional()) out.push_back(nameOf(*option));
    }
    return matching(std::move(out), open_);
  }

  /// A list goes on after its last comma.
  static std::vector<std::string> valuesOf(const CLI::Option& option, std::string_view open,
                                           std::string_view kept) {
    const Suggestions& suggestions = suggestionsOf(option);
    const std::size_t comma = suggestions.isList ? open.rfind(',') : std::string_view::npos;
    const std::size_t done = comma == std::string_view::npos ? 0 : comma + 1;
    if (!suggestions.words) return {};
    return matching(suggestions.words(), open.substr(done),
                    std::string(kept) + std::string(open.substr(0, done)));
  }

  /// Words that are no option: the last kind may come again where its option takes several.
  [[nodiscard]] std::vector<std::string> inPlace() const {
    Options places;
    std::ranges::copy_if(options_, std::back_inserter(places), &CLI::Option::get_positional);
    if (places.empty()) return {};
    const CLI::Option& last = *places.back();
    if (placed_ >= places.size() && last.get_items_expected_max() <= 1) return {};
    return valuesOf(*places[std::min(placed_, places.size() - 1)], open_, {});
  }

  Options options_;
  std::string_view open_;
  const CLI::Option* valueOf_ = nullptr;  ///< the option whose value is being typed
  std::size_t placed_ = 0;                ///< words that are no option
  bool isForeign_ = false;                ///< what stands after "--" is another program's
};

struct Script {
  std::string_view shell;
  const std::string_view* text;
  std::string_view help;
};

constexpr Script kScripts[]{
    {"bash", &kBashCompletion,
     "  bash  lacuna completion bash > ~/.local/share/bash-completion/completions/lacuna\n"},
    {"zsh", &kZshCompletion,
     "  zsh   lacuna completion zsh > DIR/_lacuna, where DIR is in $fpath\n"},
    {"fish", &kFishCompletion,
     "  fish  lacuna completion fish > ~/.config/fish/completions/lacuna.fish\n"},
};

int printScript(std::string_view shell) {
  const auto script = std::ranges::find(kScripts, shell, &Script::shell);
  if (script == std::end(kScripts))
    return printMisuse(fmt::format(
        "there is no completion for the shell '{}'; there is for bash, zsh and fish", shell));
  fmt::print("{}", *script->text);
  return kOk;
}

}  // namespace

std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) return {};
  if (words.size() == 1) {
    std::vector<std::string> names = commandNames(app);
    for (const CLI::Option* option : optionsOf(app)) names.push_back(nameOf(*option));
    return matching(std::move(names), words.front());
  }
  const std::vector<const CLI::App*> commands = commandsIn(app);
  const auto command = std::ranges::find(commands, words.front(), &CLI::App::get_name);
  return command == commands.end() ? std::vector<std::string>()
                                   : TypedCommand(**command, words.subspan(1)).candidates();
}

std::vector<std::string> wordsOf(std::string_view list) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(kBetween), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + kBetween.size()));
  }
  return words;
}

void addCompletion(CLI::App& app, int& exitCode) {
  auto shell = std::make_shared<std::string>();
  Command command(app, "completion", "Print what lets a shell complete the words of lacuna");
  command.option("SHELL", *shell, "bash, zsh or fish").required().suggests([] {
    std::vector<std::string> names;
    for (const Script& script : kScripts) names.emplace_back(script.shell);
    return names;
  });
  std::string note = "For this bash alone: source <(lacuna completion bash). For good:\n";
  for (const Script& script : kScripts) note += script.help;
  command.footnote(note + "An installed lacuna has them in share already.");
  command.example("lacuna completion zsh > ~/.zfunc/_lacuna");
  command.does([shell, &exitCode] { exitCode = printScript(*shell); });
}

}  // namespace lacuna::cli
