// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lacuna::cli {

/// Exit codes of every command.
inline constexpr int kOk = 0;
inline constexpr int kError = 1;
inline constexpr int kUsage = 2;

/// The exit code of a command whose output did not arrive, or to which something unforeseen
/// happened.
inline int failureCode = kError;

/// The words after the first `--` of `lacuna run` or `tune`, as they were typed; nothing where
/// there is no `--`. The parser does not see them, because it splits words that look like a list.
inline std::optional<std::vector<std::string>> behindDashes;

/// Adds a subcommand to `app`. Its callback does the work and leaves one of the codes above in
/// `exitCode`.
using AddCommand = void (*)(CLI::App& app, int& exitCode);

/// The registry: one line for each command, in the order of --help. addNAME is defined in the
/// command's own file.
#ifdef LACUNA_CLI_COLLECTOR
#define LACUNA_RECORDING_COMMANDS(COMMAND) \
  COMMAND(Run)                             \
  COMMAND(Tune)                            \
  COMMAND(Trigger)                         \
  COMMAND(Attach)                          \
  COMMAND(Doctor)
#else
#define LACUNA_RECORDING_COMMANDS(COMMAND)
#endif
#define LACUNA_COMMANDS(COMMAND)     \
  LACUNA_RECORDING_COMMANDS(COMMAND) \
  COMMAND(Report)                    \
  COMMAND(Whatif)                    \
  COMMAND(Calibrate)                 \
  COMMAND(Diff)                      \
  COMMAND(Check)                     \
  COMMAND(Gui)                       \
  COMMAND(Query)                     \
  COMMAND(Mcp)                       \
  COMMAND(Convert)                   \
  COMMAND(Merge)                     \
  COMMAND(Info)                      \
  COMMAND(Recover)                   \
  COMMAND(Generate)                  \
  COMMAND(Completion)                \
  COMMAND(Manual)

#define LACUNA_DECLARED(NAME) void add##NAME(CLI::App& app, int& exitCode);
LACUNA_COMMANDS(LACUNA_DECLARED)
#undef LACUNA_DECLARED

inline constexpr AddCommand kCommands[] = {
#define LACUNA_LISTED(NAME) add##NAME,
    LACUNA_COMMANDS(LACUNA_LISTED)
#undef LACUNA_LISTED
};

}  // namespace lacuna::cli
