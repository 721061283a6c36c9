// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/outcome.h"

namespace CLI {
class App;
}

namespace lacuna::cli {

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
