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

/// The exit code of a command whose output did not arrive, or to which something unforeseen happened.
inline int failureCode = kError;

/// The words after the first `--` of `lacuna run` or `tune`, as they were typed; nothing where there is no `--`. The
/// parser does not see them, because it splits words that look like a list.
inline std::optional<std::vector<std::string>> behindDashes;

/// Adds a subcommand to `app`. Its callback does the work and leaves one of the codes above in `exitCode`.
using AddCommand = void (*)(CLI::App& app, int& exitCode);

void addRun(CLI::App& app, int& exitCode);
void addTune(CLI::App& app, int& exitCode);
void addTrigger(CLI::App& app, int& exitCode);
void addAttach(CLI::App& app, int& exitCode);
void addDoctor(CLI::App& app, int& exitCode);
void addGenerate(CLI::App& app, int& exitCode);
void addConvert(CLI::App& app, int& exitCode);
void addMerge(CLI::App& app, int& exitCode);
void addQuery(CLI::App& app, int& exitCode);
void addMcp(CLI::App& app, int& exitCode);
void addGui(CLI::App& app, int& exitCode);
void addInfo(CLI::App& app, int& exitCode);
void addRecover(CLI::App& app, int& exitCode);
void addReport(CLI::App& app, int& exitCode);
void addWhatif(CLI::App& app, int& exitCode);
void addCalibrate(CLI::App& app, int& exitCode);
void addCheck(CLI::App& app, int& exitCode);
void addDiff(CLI::App& app, int& exitCode);
void addCompletion(CLI::App& app, int& exitCode);
void addManual(CLI::App& app, int& exitCode);

/// In the order of --help; one a line.
// clang-format off
inline constexpr AddCommand kCommands[] = {
#ifdef LACUNA_CLI_COLLECTOR
    addRun,
    addTune,
    addTrigger,
    addAttach,
    addDoctor,
#endif
    addReport,
    addWhatif,
    addCalibrate,
    addDiff,
    addCheck,
    addGui,
    addQuery,
    addMcp,
    addConvert,
    addMerge,
    addInfo,
    addRecover,
    addGenerate,
    addCompletion,
    addManual,
};
// clang-format on

}  // namespace lacuna::cli
