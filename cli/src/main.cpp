// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/budget_option.h"
#include "base/command.h"
#include "base/definition.h"
#include "base/nearest.h"
#include "base/output.h"
#include "base/safe_output.h"
#include "commands.h"
#include "completion.h"

namespace {

/// `lacuna help report` as `lacuna report --help`.
std::vector<char*> withHelpOption(int argc, char** argv) {
  static std::array<char, 7> option{"--help"};
  std::vector<char*> words(argv, argv + argc);
  words.erase(words.begin() + 1);
  words.push_back(option.data());
  return words;
}

/// The message for words that the command does not take.
std::string unexpectedWords(const CLI::App& app, const std::string& help) {
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return fmt::format("there is no such option (see {})", help);
  const CLI::App& command = *parsed.front();
  const std::vector<std::string> left = command.remaining();
  const auto option =
      std::ranges::find_if(left, [](const std::string& word) { return word.starts_with('-'); });
  if (option == left.end())
    return fmt::format("'{}' is a word too many (see {})", left.front(), help);
  std::vector<std::string> names;
  for (const CLI::Option* known : lacuna::cli::optionsOf(command)) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::string typed = option->substr(0, option->find('='));
  return fmt::format("there is no option '{}'{} (see {})", typed,
                     lacuna::cli::didYouMean(names, typed), help);
}

/// The command that shows how it is done right, by the first word that was typed.
std::string helpFor(std::string_view first) {
  return fmt::format("`lacuna {}--help`",
                     first.starts_with('-') ? std::string() : fmt::format("{} ", first));
}

/// Where a standard stream is closed, the next file that is opened would be taken for it, and what
/// is printed would go into the trace. To use such a stream stays an error, and a program that is
/// started has it closed as ever.
void keepStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

/// Commands that end with another program's command line.
bool startsPrograms(std::string_view command) {
  return command == "run" || command == "tune";
}

/// Cuts the program of `lacuna run` off and returns how many words are left to parse.
int cutProgram(int argc, char** argv) {
  using lacuna::cli::behindDashes;
  if (argc < 2 || !startsPrograms(argv[1])) return argc;
  char** const end = argv + argc;
  char** const dashes = std::find(argv + 2, end, std::string_view("--"));
  if (dashes == end) return argc;
  behindDashes.emplace(dashes + 1, end);
  return static_cast<int>(dashes - argv);
}

/// "Could not convert: --rate = abc" in words. Only numbers are converted.
std::string notConverted(std::string message) {
  constexpr std::string_view kStart = "Could not convert: ";
  constexpr std::string_view kBetween = " = ";
  const auto between = message.find(kBetween);
  if (!message.starts_with(kStart) || between == std::string::npos) return message;
  const std::string option = message.substr(kStart.size(), between - kStart.size());
  return fmt::format("'{}' is not a number, or not one that {} takes",
                     message.substr(between + kBetween.size()), option);
}

/// "--output: At Most 1 required but received 2" in words.
std::string givenTooOften(std::string message) {
  const auto end = message.find(": At Most 1 required");
  if (end == std::string::npos) return message;
  return fmt::format("{} is given more than once: leave all but one out", message.substr(0, end));
}

int failed(const std::string& message) {
  lacuna::cli::printError(message);
  return lacuna::cli::failureCode;
}

/// The message is there already: there may be no memory left to make one.
int outOfMemory() {
  constexpr std::string_view kText =
      "lacuna: error: there is not enough memory to go on; close other programs, lift a limit "
      "(ulimit -v), or read less of the trace\n";
  // Where that does not arrive, the exit code remains.
  (void)!::write(STDERR_FILENO, kText.data(), kText.size());
  return lacuna::cli::failureCode;
}

/// Output that was printed and did not arrive is an error, unless the reader had enough.
int finishOutput(int exitCode, int writeError) {
  const bool lost = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0 && writeError == 0) writeError = errno;
  if ((!lost && writeError == 0) || writeError == EPIPE) return exitCode;
  return failed(fmt::format("standard output cannot be written{}{}", writeError != 0 ? ": " : "",
                            writeError != 0 ? std::strerror(writeError) : ""));
}

/// A file that reaches a size limit (ulimit -f) is an error with words, as a full disk is. Programs
/// that `run` starts have their signals as ever.
void outliveFileSizeLimit(int argc, char** argv) {
  if (argc > 1 && !startsPrograms(argv[1])) std::signal(SIGXFSZ, SIG_IGN);
}

int parseAndRun(int argc, char** argv) {
  using namespace lacuna::cli;
  CLI::App app("Lacuna finds where the time and memory of neural-network training go.", "lacuna");
  app.set_version_flag("-V,--version", "lacuna " LACUNA_VERSION);
  app.require_subcommand(1);
  layOutHelp(app);
  int exitCode = kOk;
  for (const AddCommand add : kCommands) add(app, exitCode);
  if (const auto status = checkBudgetOfEnvironment(); !status)
    return printMisuse(status.error().message);
  app.footer(
      "Exit codes: 0 done, 1 an error (described on standard error), 2 wrong usage; run and check "
      "have more.\n"
      "`lacuna help COMMAND` and `lacuna COMMAND --help` explain a command.");
  if (argc > 2 && std::string_view(argv[1]) == "--complete") {
    const std::vector<std::string> words(argv + 2, argv + argc);
    for (const std::string& candidate : completions(app, words)) fmt::print("{}\n", candidate);
    return kOk;
  }
  std::vector<char*> words;
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words = withHelpOption(argc, argv);
    argc = static_cast<int>(words.size());
    argv = words.data();
  }
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  const std::vector<std::string> commands = commandNames(app);
  if (argv[1][0] != '-' && std::find(commands.begin(), commands.end(), argv[1]) == commands.end()) {
    return printMisuse(unknownCommand(app, argv[1]));
  }
  try {
    app.parse(cutProgram(argc, argv), argv);
  } catch (const CLI::Success& wanted) {  // --help and --version
    std::ostringstream text;
    const int code = app.exit(wanted, text, text);
    fmt::print("{}", text.str());
    return code;
  } catch (const CLI::ConversionError& error) {
    return printMisuse(notConverted(error.what()));
  } catch (const CLI::ArgumentMismatch& error) {
    return printMisuse(fmt::format("{} (see {})", givenTooOften(error.what()), helpFor(argv[1])));
  } catch (const CLI::ExtrasError&) {
    return printMisuse(unexpectedWords(app, helpFor(argv[1])));
  } catch (const CLI::ExcludesError& error) {
    return printMisuse(fmt::format("{}: leave one of the two out", error.what()));
  } catch (const CLI::ParseError& error) {
    return printMisuse(fmt::format("{} (see {})", error.what(), helpFor(argv[1])));
  }
  return exitCode;
}

}  // namespace

int main(int argc, char** argv) {
  keepStandardStreams();
  lacuna::cli::makeOutputSafe();
  outliveFileSizeLimit(argc, argv);
  int writeError = 0;
  int exitCode = lacuna::cli::kError;
  try {
    exitCode = parseAndRun(argc, argv);
  } catch (const std::system_error& error) {
    // Output that is printed piece by piece ends where a piece cannot be written.
    if (std::ferror(stdout) == 0) return failed(error.what());
    writeError = error.code().value();
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  } catch (const std::length_error&) {  // more than any memory can hold
    return outOfMemory();
  } catch (const std::exception& error) {
    return failed(error.what());
  }
  return finishOutput(exitCode, writeError);
}
