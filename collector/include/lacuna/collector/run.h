// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lacuna/collector/options.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The outcome of a run.
struct RunReport {
  /// One trace of a flight recorder.
  struct Dump {
    std::filesystem::path file;
    std::string reason;
    prof::DrainStats stats;
  };
  /// For a flight recorder the last dump; empty when there is none.
  std::filesystem::path output;
  std::vector<Dump> dumps;  ///< those that are there, also where another could not be written
  std::int64_t wallNs = 0;
  prof::DrainStats stats;
  std::uint64_t samples = 0;  ///< CPU samples
  std::string sampler;        ///< where they came from, in words; empty when none were wanted
  int exitCode = 0;           ///< of the program, when no signal killed it
  int exitSignal = 0;         ///< the signal that killed it, or 0
  std::vector<std::string>
      notes;  ///< what could not be recorded or was noticed, in words for the user
  std::vector<SettingLine> settings;  ///< what came of RunOptions::settings, one for each
  bool explained = false;  ///< a note explains why programs or all are missing in the trace
  std::uint32_t seen =
      0;  ///< processes that there were, recorded or not; 0 in a flight recorder's run
  /// Why there is no whole trace, or not every dump, although the program has run, with the remedy;
  /// else empty.
  std::string failure;
};

/// Runs the program and everything it starts, recording into one trace, and returns when all have
/// ended. The program has this process's standard files, group and terminal; signals that arrive
/// here are handed on to it. Takes over this process's signal handling and children meanwhile: for
/// a command, not for a library call among others. Fails when the program cannot be started; what
/// there was before, under the name of the trace, is then as it was.
prof::Result<RunReport> run(const RunOptions& options);

/// Ends this process the way the program ended: same exit code, or killed by the same signal.
[[noreturn]] void exitAs(const RunReport& report);

enum class Trigger { Start, Stop, Dump };
struct TriggerOutcome {
  std::string words;  ///< for the user
  std::filesystem::path
      dump;  ///< the trace that holds what was dumped; empty while that is not written
};
/// Reaches the recording that process `pid` (the program, one of its children, or `lacuna run`)
/// belongs to. Waits for a dump until it is written, ten seconds at most. Fails where the process
/// is not there, not recorded, or another user's, and where the dump could not be written.
prof::Result<TriggerOutcome> trigger(int pid, Trigger what);

}  // namespace lacuna::collector
