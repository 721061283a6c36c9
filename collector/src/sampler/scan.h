// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "proc/proc_file.h"
#include "sampler/perf_record.h"

namespace lacuna::collector::proc {

/// Stands in where the kernel's account cannot be had: looks at /proc again and again, and reports
/// changes as the same records. It misses whatever begins and ends between two looks, and its
/// samples have no stacks.
class Scan {
 public:
  /// Follows `root` and its descendants, and what this process has adopted.
  explicit Scan(std::uint32_t root, bool samples);
  /// With `recording` false the CPU time of threads counts for no sample.
  void scan(prof::TimeNs nowNs, bool recording, std::vector<sampler::PerfRecord>& into);

  /// A process samples itself: from here on its threads have samples from here only where it has
  /// none for long. `exec`: it did so before as another image, which may have been of the same
  /// file.
  void meet(std::uint32_t pid, std::uint32_t parent, const std::string& name, prof::TimeNs startNs,
            std::vector<sampler::PerfRecord>& into, bool exec = false);
  /// A thread of such a process had used so much CPU time when it sampled itself. Answers what no
  /// sample stands for yet.
  std::uint64_t account(std::uint32_t pid, std::uint32_t tid, std::uint64_t cpuNs);
  /// Such a process has ended; `threads` are those that it was heard of.
  void leave(std::uint32_t pid, const std::set<std::uint32_t>& threads, prof::TimeNs endNs,
             std::vector<sampler::PerfRecord>& into);

 private:
  struct Thread {
    std::uint32_t pid = 0;
    bool there = false;
    char state = 0;
    std::uint64_t startTicks = 0;  ///< as /proc gives it; 0 before the first scan
    prof::TimeNs startNs = 0;
    std::uint64_t runNs = 0;  ///< that samples stand for
    std::string name;
    std::string program;  ///< of the first thread: the file
  };
  void readClocks();
  void visitProcess(std::uint32_t pid, std::uint32_t parent, prof::TimeNs nowNs,
                    std::vector<sampler::PerfRecord>& into);
  /// True when it belongs to us. It and its ancestors among us are known then.
  bool introduce(std::uint32_t pid, prof::TimeNs nowNs, std::vector<sampler::PerfRecord>& into);
  void begin(Thread& thread, std::uint32_t pid, std::uint32_t tid, std::uint32_t parent,
             prof::TimeNs startNs, std::vector<sampler::PerfRecord>& into);
  void visitThread(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent, prof::TimeNs nowNs,
                   std::vector<sampler::PerfRecord>& into);

  static void describe(sampler::PerfRecord& exec, const Thread& thread);
  static bool runsAnother(std::uint32_t pid, Thread& thread);
  [[nodiscard]] prof::TimeNs startOf(const Stat& stat, std::uint32_t pid, std::uint32_t tid,
                                     prof::TimeNs nowNs) const;

  std::uint32_t root_;
  prof::TimeNs begunNs_;     ///< when it was made
  prof::TimeNs scannedNs_;   ///< when the last scan began
  prof::TimeNs bootNs_ = 0;  ///< what the clock of /proc is ahead of ours
  bool samples_;
  bool recording_ = true;
  std::map<std::uint32_t, Thread> threads_;
  std::map<std::uint32_t, prof::TimeNs> goneNs_;  ///< processes that the last scan found ended
  std::set<std::uint32_t> themselves_;            ///< processes that sample themselves
};

}  // namespace lacuna::collector::proc
