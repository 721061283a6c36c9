// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lacuna/collector/settings.h"
#include "lacuna/prof/result.h"

/// A run of a PyTorch program with settings that is not recorded: only the ends of its steps are
/// known.
namespace lacuna::collector {

struct TrialOptions {
  std::vector<std::string> command;
  std::vector<Setting> settings;
  std::uint32_t warmUp = 0;  ///< steps before those that count
  std::uint32_t steps =
      0;  ///< the program is ended after so many, warm-up included; 0: it ends by itself
  std::int64_t limitNs = 0;              ///< it is ended after this time; 0: never
  std::int64_t graceNs = 5'000'000'000;  ///< how long a program may take to end once it is asked
  std::filesystem::path
      folder;  ///< of this trial alone; the program's output goes to the file `output` there
  std::function<bool()> goesOn;  ///< asked some ten times a second; false ends the program
  /// Called now and then with the number of steps that have ended.
  std::function<void(std::uint32_t)> onSteps;
};

struct Trial {
  enum class End : std::uint8_t {
    Steps,    ///< it made the steps
    Program,  ///< it ended by itself before
    Failed,   ///< with a code other than 0, or by a signal
    Limit,    ///< it took too long
    Stopped,  ///< `goesOn` returned false
  };
  End end = End::Program;
  int exitCode = 0, exitSignal = 0;
  std::vector<std::int64_t>
      stepEndsNs;  ///< of the process with the most steps, by its clock, which is the machine's
  std::map<std::uint32_t, double> losses;  ///< of some steps
  std::uint64_t hostBytes = 0;             ///< most memory that one process had (ru_maxrss)
  std::uint64_t deviceBytes = 0;  ///< most that PyTorch had of a GPU's memory; 0 where it used none
  std::int64_t wallNs = 0;
  double othersCores =
      0;  ///< that other programs of the machine kept busy meanwhile; 0 where nothing shows it
  std::vector<SettingOutcome> outcomes;
  std::string lastOutput;  ///< the end of what the program wrote, for messages
};

/// Reads a start-up hook's file. Not trusted: bounded, and what is no such line is left out.
void readTimes(const std::filesystem::path& file, Trial& trial);

/// Runs the program in a process group of its own, without standard input. Everything that it
/// started is gone when this returns. Fails where it cannot be started. Reaps every child of this
/// process meanwhile.
prof::Result<Trial> runTrial(const TrialOptions& options);

}  // namespace lacuna::collector
