// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "lacuna/prof/recording.h"
#include "record/clock_line.h"
#include "record/directory.h"
#include "record/drain/open_states.h"
#include "record/drain/process_reader.h"
#include "record/drain/row_batches.h"
#include "record/drain/trace_state.h"

namespace lacuna::prof::recording {

/// Drains a recording; what Drainer and recover() have in common. One thread at a time.
class DrainCore {
 public:
  struct Place {
    std::filesystem::path directory;
    bool live = true;  ///< segments are given back, and the recording is removed at the end
  };
  DrainCore(Place place, Writer writer, const DrainOptions& options);

  /// One pass over all recorders. True when there was something.
  Result<bool> drain();
  Status flush();
  Status finish();
  [[nodiscard]] DrainStats stats();
  [[nodiscard]] const std::string& whyUnable() const { return whyUnable_; }
  /// True when a process filled more than a segment before the last pass, so that there may soon be
  /// no room for more.
  [[nodiscard]] bool isFilling() const { return isFilling_; }
  [[nodiscard]] bool hasRecorders() const { return !readers_.empty(); }
  TraceState& trace() { return trace_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return place_.directory; }

  /// Takes up where a checkpoint left off. The trace must hold what it held then.
  Status resume(const std::string& checkpoint);
  /// The last save of a dead drainer; empty where it had saved nothing.
  static Result<std::string> checkpointOf(const std::filesystem::path& directory);
  /// Length of the trace when that was made.
  static std::uint64_t fileBytesOf(const std::string& checkpoint);

 private:
  using Steady = std::chrono::steady_clock;

  void findRecorders();
  void openRecorder(const std::filesystem::path& path);
  void learnClocks(const Header& header);
  void noteWhereItIs(Header& header);
  bool drainAll(bool last);
  void closeTheDead();
  void closeTheBroken();
  Status checkpoint();
  Status saveState();
  [[nodiscard]] bool checkpointIsDue() const;
  void noteFailures(const std::vector<std::filesystem::path>& notes);
  void writeTick(const Tick& tick);
  void noteClockStep(const Tick& tick);
  void writeEnvironment();

  Place place_;
  std::filesystem::path segments_;  ///< the folder that they were in at first
  std::uint64_t key_;
  RecordingFolder folder_;
  DrainOptions options_;
  TraceState trace_;
  RowBatches batches_;
  ClockLine clock_;
  Tick tick_;
  TimeNs lastClockRow_ = 0;
  Tick steady_;  ///< since when the wall clock has gone with the monotonic one
  std::map<std::string, std::unique_ptr<ProcessReader>> readers_;  ///< by file name
  std::set<std::string> done_;             ///< read to the end, or no recordings at all
  std::map<std::string, Error> unopened_;  ///< for want of room, though they may be sound
  std::map<std::string, std::string>
      saved_;             ///< states from a checkpoint, until the file is opened
  OpenStates savedOpen_;  ///< the same, of what was open
  OpenLog openLog_;
  std::set<std::string> failed_;
  std::string whyUnable_;  ///< not kept in a checkpoint
  Steady::time_point lastSearch_{};
  Steady::time_point lastLifeCheck_{};
  Steady::time_point lastCheckpoint_ = Steady::now();
  Steady::time_point retryAt_{};  ///< not before, after one that failed
  bool reportedUnsaved_ = false;
  bool isFilling_ = false;
};

}  // namespace lacuna::prof::recording
