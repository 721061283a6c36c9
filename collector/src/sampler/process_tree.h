// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lacuna/prof/recording.h"
#include "sampler/perf_record.h"
#include "sampler/stacks.h"

namespace lacuna::collector::sampler {

/// Turns records, in the order of time, into processes, threads, CPU samples and thread states. It
/// does not matter whether they come from the kernel or from looking at /proc. Samples and states
/// are written only inside a window of the recording; processes and threads are followed all the
/// time.
class ProcessTree {
 public:
  /// 0 where no samples are to come.
  explicit ProcessTree(std::int64_t samplePeriodNs) : samplePeriodNs_(samplePeriodNs) {}

  struct Thread {
    prof::ThreadId id;
    std::uint32_t pid = 0;
    prof::TimeNs sinceNs = 0;  ///< in this state, or recorded in it
    prof::ThreadState state = prof::ThreadState::Unknown;
    std::uint16_t cpu = 0;
  };
  struct Process {
    prof::ProcessId id;
    std::uint32_t threads = 0;  ///< living
    AddressSpace space;
    bool unknownImage = false;  ///< it runs another since, and the next map names it
    bool stranger = false;      ///< that image's environment does not name the recording
    std::string image;          ///< what it runs, as far as that is known
    prof::TimeNs imageSinceNs = 0;
  };
  /// Files that were executed.
  struct Images {
    std::map<std::string, prof::TimeNs> all;  ///< for how long, all processes together
    std::set<std::string> strangers;  ///< with an environment that does not name the recording
  };

  /// The window is open until a record closes it.
  void take(const PerfRecord& record, prof::Drainer::Access& access);
  /// Ends the states that are still on.
  void finish(prof::TimeNs nowNs, prof::Drainer::Access& access);

  [[nodiscard]] const std::unordered_map<std::uint32_t, Process>& processes() const {
    return processes_;
  }
  [[nodiscard]] const std::unordered_map<std::uint32_t, Thread>& threads() const {
    return threads_;
  }
  [[nodiscard]] Stacks& stacks() { return stacks_; }
  [[nodiscard]] const Images& images() const { return images_; }
  /// Number of processes that there ever were.
  [[nodiscard]] std::uint32_t seen() const { return seen_; }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

 private:
  Process& processOf(const PerfRecord& record, prof::Drainer::Access& access);
  Thread& threadOf(const PerfRecord& record, prof::Drainer::Access& access);
  void fork(const PerfRecord& record, prof::Drainer::Access& access);
  void exit(const PerfRecord& record, prof::Drainer::Access& access);
  /// For a thread that is there.
  void endThread(std::uint32_t tid, prof::TimeNs timeNs, prof::Drainer::Access& access);
  void endThreadsOf(std::uint32_t pid, prof::TimeNs timeNs, prof::Drainer::Access& access);
  /// A process that has no threads any more has ended.
  void endIfEmpty(std::uint32_t pid, prof::TimeNs timeNs, prof::Drainer::Access& access);
  void endProcess(std::uint32_t pid, prof::TimeNs timeNs, prof::Drainer::Access& access);
  void rename(const PerfRecord& record, prof::Drainer::Access& access);
  void runs(Process& process, const std::string& image, prof::TimeNs timeNs);
  void leavesImage(Process& process, prof::TimeNs timeNs);
  void map(const PerfRecord& record, prof::Drainer::Access& access);
  void sample(const PerfRecord& record, prof::Drainer::Access& access);
  void enter(Thread& thread, prof::ThreadState state, const PerfRecord& record,
             prof::Drainer::Access& access);
  void window(const PerfRecord& record, prof::Drainer::Access& access);
  /// Unless the window is closed.
  void writeState(const Thread& thread, prof::TimeNs endNs, prof::Drainer::Access& access);

  std::int64_t samplePeriodNs_;
  bool recording_ = true;
  std::unordered_map<std::uint32_t, Process> processes_;  ///< living, by process id
  std::unordered_map<std::uint32_t, Thread> threads_;     ///< living, by thread id
  Stacks stacks_;
  Images images_;
  std::uint32_t seen_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace lacuna::collector::sampler
