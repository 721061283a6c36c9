// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/guest.h"
#include "lacuna/collector/options.h"
#include "lacuna/collector/run.h"
#include "lacuna/prof/recording.h"
#include "supervise/step_watch.h"

namespace lacuna::collector {

/// OUT.dump-3.lcn of OUT.lcn.
std::filesystem::path flightDumpName(const std::filesystem::path& output, std::uint32_t number);

/// Writes what a ring recording holds, when asked or when a step is slow. Dumps are written by a
/// thread of its own, one after the other; programs and supervisor go on meanwhile. Construct after
/// SignalRelay.
class FlightRecorder {
 public:
  FlightRecorder(std::filesystem::path recording, std::filesystem::path output,
                 const RunOptions& options);
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;
  ~FlightRecorder();

  /// Asks for a dump. Wishes that come before it is begun are one with it. `wish` numbers those
  /// from outside.
  void dump(const std::string& reason, std::uint32_t wish = 0);
  /// The outcome of the last wish from outside that is over.
  struct Answer {
    std::uint32_t wish = 0;
    int number = 0;  ///< in the name of the dump
    bool written = false;
  };
  [[nodiscard]] Answer answer() const;
  /// Looks for slow steps, and bounds the memory of processes that have ended. To be called often.
  void tend(Control& control);
  void setExitCode(int pid, int code);
  /// Waits for what was asked for. The dumps that are there.
  const std::vector<RunReport::Dump>& finish();
  /// The failure of the first dump that could not be written, once finished.
  [[nodiscard]] const prof::Status& failure() const { return failure_; }
  /// Sets what goes into the log of the next dumps.
  void setNotes(const std::vector<std::string>& notes);
  [[nodiscard]] std::size_t dumpCount() const;

 private:
  void work();
  bool write(const std::string& reason);
  void watchSteps(Control& control);

  const std::filesystem::path recording_;
  const std::uint64_t key_;
  const std::filesystem::path output_;
  const RunOptions& options_;
  StepWatch steps_;
  std::uint64_t stepsSeen_ = 0;
  int slowDumps_ = 0;
  prof::FlightTrimmer trimmer_;
  std::int64_t trimmedNs_ = 0;
  int number_ = 0;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable wake_;
  std::string wanted_;
  std::uint32_t wish_ = 0;  ///< the last in `wanted_`
  Answer answer_;
  bool writing_ = false;
  bool stopping_ = false;
  std::uint64_t forgotten_ = 0;
  std::vector<std::string> notes_;
  std::map<std::uint32_t, int> exitCodes_;
  std::vector<RunReport::Dump> dumps_;
  prof::Status failure_;
  std::thread thread_;
};

}  // namespace lacuna::collector
