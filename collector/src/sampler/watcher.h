// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/guest.h"
#include "gpu/gpu_counters.h"
#include "lacuna/collector/options.h"
#include "lacuna/prof/recording.h"
#include "python/python_sampler.h"
#include "sampler/choice.h"
#include "sampler/counters.h"
#include "sampler/executed_files.h"
#include "sampler/journal.h"
#include "sampler/mapped_files.h"
#include "sampler/perf_ring.h"
#include "sampler/process_tree.h"
#include "sampler/rings.h"
#include "sampler/scan.h"
#include "sampler/window.h"

namespace lacuna::collector::sampler {

/// Follows the process tree from outside: who there is and, where samples or counters are wanted,
/// what runs where and what it uses. A thread of its own, between start() and finish(). Construct
/// after SignalRelay.
class Watcher {
 public:
  /// `drainer` and `control` outlive it. `sampler` is where CPU samples come from,
  /// where they are wanted.
  /// `executed` is called on its thread.
  Watcher(const RunOptions& options, prof::Drainer& drainer, const Control& control,
          std::filesystem::path recording, Choice sampler, ExecutedFiles::Visit executed);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher();

  /// `pid` is about to exec. notes() names what cannot be had.
  void start(pid_t pid);
  /// Reads what is left, and writes the names of what was sampled. `namesUnwanted` is asked often:
  /// once it is true, names are left out.
  void finish(const std::function<bool()>& namesUnwanted);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::uint64_t samples() const { return tree_.samples(); }
  [[nodiscard]] const ProcessTree::Images& images() const { return tree_.images(); }
  /// Number of processes that there were.
  [[nodiscard]] std::uint32_t processes() const { return tree_.seen(); }
  /// Where they come from, in words; empty when none are wanted.
  [[nodiscard]] const std::string& source() const { return source_; }
  /// A Python program draws a progress bar on the terminal.
  [[nodiscard]] bool seesBar() const { return python_ && python_->seesBar(); }

 private:
  void startKernel(pid_t pid);
  void startScanning(pid_t pid);
  void noteSource(std::string_view name, std::string_view words);
  void stop();
  void work();
  void rest();
  void readKernel();
  void collect(prof::TimeNs untilNs);
  void scanWhenDue(prof::TimeNs nowNs);
  void scanProcesses(prof::TimeNs nowNs);

  const RunOptions& options_;
  prof::Drainer& drainer_;
  std::filesystem::path recording_;
  Choice sampler_;
  PerfRings rings_;
  std::optional<proc::Scan> scan_;
  std::optional<timer::Rings> timers_;
  Window window_;
  ProcessTree tree_;
  Journal frames_;  ///< for a recovery
  MappedFiles files_;
  ExecutedFiles executed_;
  proc::Counters counters_;
  std::optional<gpu::GpuCounters> gpus_;
  std::optional<python::PythonSampler> python_;
  std::vector<PerfRecord> pending_;
  prof::TimeNs countedNs_ = 0;
  std::uint64_t openings_ = 0;  ///< of the window, that the counters know of
  prof::TimeNs scannedNs_ = 0;
  std::int64_t countEveryNs_ = 100'000'000;
  std::int64_t scanEveryNs_ = 0;
  std::vector<std::string> notes_;
  std::string source_;
  std::atomic<bool> stopping_{false};
  int stopFd_ = -1;  ///< readable when it is time to stop
  std::thread thread_;
};

}  // namespace lacuna::collector::sampler
