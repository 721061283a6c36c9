// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "lacuna/prof/recording.h"
#include "proc/proc_file.h"
#include "python/python_stacks.h"
#include "python/targets.h"

namespace lacuna::collector::python {

/// Looks from outside where the threads of Python programs are, many times a second. A thread of
/// its own, between start() and finish(). Its findings are in the trace a moment later, so nothing
/// of them needs a recovery.
class PythonSampler {
 public:
  struct Settings {
    std::filesystem::path folder;  ///< of announcements
    std::int64_t periodNs = 0;
    std::function<bool()> recording;  ///< asked before each round
  };
  /// `drainer` outlives it.
  PythonSampler(Settings settings, prof::Drainer& drainer);
  PythonSampler(const PythonSampler&) = delete;
  PythonSampler& operator=(const PythonSampler&) = delete;
  ~PythonSampler();

  void start();
  void finish();
  /// Sentences for the user about all that could not be read.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// A program has announced that it draws a progress bar. Any thread may ask.
  [[nodiscard]] bool seesBar() const { return seesBar_; }

 private:
  /// A thread between two looks.
  struct Sampled {
    prof::TimeNs lastNs = 0;  ///< when it was last seen in Python code
    prof::TimeNs waitsFromNs =
        0;  ///< of a thread beside the first one: since when it has been where it is, unwritten
    std::vector<Frame> frames;  ///< where that is
    proc::StateFile state;      ///< of the first thread
  };
  struct Row {
    prof::TimeNs timeNs = 0;
    std::uint32_t pid = 0, tid = 0;
    std::int64_t weightNs = 0;
    std::vector<Frame> frames;
    prof::ThreadState state = prof::ThreadState::Unknown;
  };
  struct Process {
    std::unique_ptr<Target> target;
    std::unordered_map<std::uint32_t, Sampled> threads;  ///< by their own numbers
  };
  void work();
  void rest(std::int64_t ns);
  void findNew();
  void sampleAll();
  void sampleProcess(Process& process);
  void take(Process& process, ThreadStack&& stack, prof::TimeNs nowNs);
  [[nodiscard]] std::int64_t periodOf(const Process& process) const;
  void settle(Process& process, std::uint32_t tid, Sampled& thread);
  void fail(Process& process);
  void settleAll(Process& process);
  void pause();
  void end(Process& process);
  void write();
  /// Since the last time that rows were written.
  void measureIdle(prof::TimeNs nowNs);
  void noteOutcome();
  [[nodiscard]] std::int64_t periodNs() const;
  std::int64_t nextRestNs();

  Settings settings_;
  prof::Drainer& drainer_;
  Announcements announcements_;
  PythonStacks stacks_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<ThreadStack> seen_;
  std::vector<Row> rows_;
  prof::TimeNs searchedNs_ = 0, wroteNs_ = 0;
  std::uint64_t idleNs_ = 0;     ///< of the cores, when rows were written last
  bool hasIdleCore_ = false;     ///< so that looks keep the program from nothing
  std::int64_t roundCpuNs_ = 0;  ///< the cost of a round, with all that belongs to it
  std::int64_t cpuNs_ = 0;       ///< what all this cost
  std::uint64_t rounds_ = 0, samples_ = 0, torn_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15u;
  bool refused_ = false;
  std::atomic<bool> seesBar_{false};
  std::vector<std::string> notes_;
  std::atomic<bool> stopping_{false};
  int stopFd_ = -1;  ///< readable when it is time to stop
  std::thread thread_;
};

}  // namespace lacuna::collector::python
