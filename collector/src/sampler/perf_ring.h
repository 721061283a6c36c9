// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "sampler/perf_record.h"

namespace lacuna::collector::sampler {

/// The kernel's account of one process and all its descendants, even when they leave its session.
/// It holds forks, names and ends. With `samplePeriodNs` it also holds context switches, mappings
/// and samples of their CPU time with call chains.
class PerfRings {
 public:
  /// Follows `pid` from here on; it should be about to exec. Answers 0, or the errno of the
  /// kernel's refusal.
  int open(pid_t pid, std::int64_t samplePeriodNs);
  PerfRings() = default;
  PerfRings(const PerfRings&) = delete;
  PerfRings& operator=(const PerfRings&) = delete;
  ~PerfRings() { close(); }

  void close();
  [[nodiscard]] bool isOpen() const { return !rings_.empty(); }
  /// True when the kernel's own time is sampled, too (at its caller).
  [[nodiscard]] bool seesKernel() const { return seesKernel_; }
  /// For the rings that open() makes: wait() ends with the first record, not when there is much to
  /// read.
  void wakeAtOnce(bool atOnce) { wakeAtOnce_ = atOnce; }
  /// Waits until there is something to read or `stopFd` can be read, or so long.
  void wait(int milliseconds, int stopFd);
  /// Takes everything that is there. Records of different cores are in no order.
  void read(std::vector<PerfRecord>& into);

 private:
  struct Ring {
    int fd = -1;         ///< forks, names and the like; owns the buffer
    int samplerFd = -1;  ///< writes into the same buffer
    void* base = nullptr;
    std::size_t bytes = 0;
  };
  int openCore(Ring& ring, pid_t pid, int cpu, std::int64_t samplePeriodNs);
  static bool mapBuffer(Ring& ring);
  void readRing(Ring& ring, std::vector<PerfRecord>& into);

  std::vector<Ring> rings_;
  bool seesKernel_ = true;
  bool wakeAtOnce_ = false;
  std::vector<std::byte> record_;
};

}  // namespace lacuna::collector::sampler
