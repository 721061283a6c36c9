// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lacuna::cli {

/// Values that a shell proposes for an option.
struct Suggestions {
  std::function<std::vector<std::string>()> words;
  bool isList = false;  ///< several stand in one word, with commas between them
};
/// Without words where the option has none.
const Suggestions& suggestionsOf(const CLI::Option& option);

/// A word or a flag that a command takes.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// The name that --help gives the value: FILE, TIME.
  Option& typeName(const std::string& name);
  Option& between(int least, int most);
  Option& notNegative();
  /// Refuses "", which a script gives where a variable of its own is not set.
  Option& notEmpty();
  /// Its word may be several with commas between them; given again it takes more.
  Option& commaSeparated();
  /// Number of words that it takes; `most` below 0 is any number.
  Option& words(int least, int most);
  Option& excludes(const Option& other);
  /// Is wrong without the other.
  Option& needs(const Option& other);
  /// Left out of --help.
  Option& hidden();
  /// Each time that it is given it takes one word.
  Option& repeated();
  /// --help shows the value that holds when none is given.
  Option& showDefault();
  /// Has shells propose these values; others may stand there, too.
  Option& suggests(std::function<std::vector<std::string>()> words);
  Option& suggestsList(std::function<std::vector<std::string>()> words);

 private:
  CLI::Option* option_;
};

/// One of the commands of `lacuna`, or a group of one's options. Refers to what `app` owns, so it
/// may be copied. The commands leave the parser's headers to command.cpp: including them took most
/// of the time to compile each command.
class Command {
 public:
  Command(CLI::App& app, const std::string& name, const std::string& description);

  /// `names` is "-q,--quiet", or a word for what stands in that place. For the types that
  /// command.cpp instantiates.
  template <class T>
  Option option(const std::string& names, T& value, const std::string& description);
  Option flag(const std::string& names, bool& value, const std::string& description);
  /// The spelling that a version before had. It is hidden, hands its value over, and prints the one
  /// that took its place.
  Option formerly(const std::string& name, std::string_view now,
                  std::function<void(const std::string&)> take);
  /// A group of options; exactly one of them is to be given.
  Command oneOf(const std::string& name);

  /// The text that --help shows after the command's name, where that is more than its options.
  void usage(const std::string& words);
  /// The text below the options in --help, in the place of the exit codes that every command has.
  void footer(const std::string& text);
  /// Lines between the options and that.
  void footnote(const std::string& text);
  /// A line below that, which shows how the command is called.
  void example(const std::string& line);
  /// The command reads traces: adds --budget and --sandbox, by which it first gives up other files,
  /// programs and the network. To be called behind its other options.
  void opensTraces();
  /// From the first word on that is no option of this command, all words are remaining().
  void takeTheRest();
  std::vector<std::string> remaining() const;
  /// "--output" and the like, of all options that it has.
  std::vector<std::string> optionNames() const;
  void does(std::function<void()> work);

 private:
  explicit Command(CLI::App* app) : app_(app) {}

  CLI::App* app_;
};

/// The width of --help: the terminal's, between 60 and 120 columns.
std::size_t helpColumns();
/// The width of lists of names with short texts: 80 columns, or less where --help has less.
std::size_t listColumns();
/// Sets the layout of --help for all commands that are added afterwards.
void layOutHelp(CLI::App& app);

}  // namespace lacuna::cli
