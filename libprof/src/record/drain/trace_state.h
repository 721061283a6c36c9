// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lacuna/prof/recording.h"
#include "lacuna/prof/writer.h"
#include "record/clock_line.h"
#include "record/drain/range_stacks.h"

namespace lacuna::prof::recording {

class Saver;
class Loader;

/// Identifies a process image among all that were ever on this machine since it booted.
struct ProcessKey {
  std::uint32_t osPid = 0;
  std::uint64_t startTicks = 0;
  std::array<std::uint8_t, 16> image{};
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};

struct ProcessInfo {
  ProcessKey key;
  std::uint32_t parentPid = 0;
  std::int32_t rank = -1;
  std::int32_t exitCode = -1;
  TimeNs startNs = 0;
  TimeNs endNs = 0;
  std::string name;
  std::string commandLine;
  TimeNs joinedNs = 0;    ///< when its recorder joined, 0 when unknown
  ProcessId parent;       ///< as seen from outside; beats parentPid
  bool seen = false;      ///< from outside
  bool recorded = false;  ///< by a recorder in it
};

struct ThreadInfo {
  ProcessId process;
  std::uint32_t osTid = 0;
  std::uint32_t recorders = 0;   ///< that know the thread as living
  std::uint32_t roundsOver = 0;  ///< see settleThreads(); not kept in a checkpoint
  std::uint32_t ownTid = 0;      ///< its process's other number for it, see alsoCall()
  TimeNs startNs = 0;
  TimeNs endNs = 0;
  std::string name;
  bool named = false;  ///< by the program, which beats the operating system's name
  bool seen = false;   ///< from outside
  TimeNs exitNs = 0;   ///< seen from outside
  TimeNs leftNs = 0;   ///< reported by a recorder that saw it end; not kept in a checkpoint
};

/// Numbers that the trace gives to things of all processes.
enum class Numbered : std::uint8_t { Device, Queue, Track, Frame, ArgSet, Count };

/// State of the trace that is being written: its writer, and all that it numbers, such as
/// processes, threads and devices.
class TraceState {
 public:
  explicit TraceState(Writer writer) : writer_(std::move(writer)) {}

  Writer& writer() { return writer_; }
  DrainStats& stats() { return stats_; }
  /// For the open ranges of all processes.
  OpenBudget& openBudget() { return openBudget_; }

  ProcessId process(const ProcessInfo& info);
  ProcessInfo& processInfo(ProcessId id) { return processes_[id.value - 1]; }
  /// The living process of that pid, or one made up for it.
  ProcessId processOf(std::uint32_t osPid);
  void setExitCode(std::uint32_t osPid, int code) { exitCodes_[osPid] = code; }
  [[nodiscard]] std::uint32_t processCount() const {
    return static_cast<std::uint32_t>(processes_.size());
  }

  /// The thread that a recorder reports for the first time. Two recorders of one process mean the
  /// same thread.
  ThreadId enterThread(ProcessId process, std::uint32_t osTid, TimeNs startNs);
  void leaveThread(ThreadId id);
  /// Its recorder saw it end.
  void endThread(ThreadId id, TimeNs endNs) {
    threadInfo(id).leftNs = std::max(threadInfo(id).leftNs, endNs);
  }
  /// Its process has another number for it, too.
  void alsoCall(ThreadId id, std::uint32_t ownTid);
  /// The latest thread of that number.
  ThreadId threadOf(ProcessId process, std::uint32_t osTid);
  /// For a thread that is not settled.
  ThreadInfo& threadInfo(ThreadId id) { return threads_[id.value]; }
  /// Null for one that is settled.
  ThreadInfo* findThread(ThreadId id);
  /// Writes the rows of threads that ended so long ago that nobody reports on them any more, and
  /// forgets them: there may be any number of them. To be called now and then. Counts as a round
  /// when the last was long enough ago, so a drainer that was held up does not seem like one
  /// without reports.
  void settleThreads(TimeNs nowNs);
  /// Number of threads that are not settled.
  [[nodiscard]] std::size_t threadCount() const { return threads_.size(); }

  /// The reports of Drainer::Access.
  ProcessId beginProcess(std::uint32_t osPid, ProcessId parent, TimeNs startNs);
  ProcessId execProcess(ProcessId process, TimeNs timeNs);
  ThreadId beginThread(ProcessId process, std::uint32_t osTid, TimeNs startNs);

  std::uint32_t newNumber(Numbered kind) { return ++numbers_[static_cast<std::size_t>(kind)]; }
  /// The number of a device that processes share; its row is written once.
  std::optional<DeviceId> deviceOf(const std::string& uuid) const;
  void nameDevice(const std::string& uuid, DeviceId id) { devices_[uuid] = id; }

  template <class Row>
  void append(const Row& row) {
    writer_.append<Row>(row);
    ++stats_.rows;
  }
  void drop(TimeNs timeNs, ProcessId process, ThreadId thread, std::uint64_t count,
            std::string_view reason);
  void log(TimeNs timeNs, LogLevel level, std::string_view text);
  /// The Process rows and those of the threads that are left, once, at the end.
  void writeEverybody(TimeNs endNs);

  void save(Saver& saver) const;
  void load(Loader& loader);

 private:
  ProcessId addProcess(const ProcessInfo& info);
  ThreadId addThread(ProcessId process, std::uint32_t osTid);
  void writeThread(std::uint32_t id, const ThreadInfo& info);
  void forgetNumber(ProcessId process, std::uint32_t tid, std::uint32_t id);

  Writer writer_;
  DrainStats stats_;
  OpenBudget openBudget_;
  std::vector<ProcessInfo> processes_;
  std::map<ProcessKey, ProcessId> processByKey_;
  std::unordered_map<std::uint32_t, ProcessId> processByPid_;
  std::unordered_multimap<std::uint32_t, ProcessId> processesByPid_;
  std::unordered_map<std::uint32_t, std::int32_t> exitCodes_;
  std::map<std::uint32_t, ThreadInfo> threads_;  ///< by id, those that are not settled
  std::uint32_t lastThread_ = 0;                 ///< the last id given
  TimeNs lastRoundNs_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ThreadId> threadByTid_;
  std::map<std::string, DeviceId> devices_;
  std::array<std::uint32_t, static_cast<std::size_t>(Numbered::Count)> numbers_{};
};

}  // namespace lacuna::prof::recording
