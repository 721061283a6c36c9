// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sampler/perf_record.h"

namespace lacuna::collector::proc {

/// Where the kernel's account cannot be had: looks at /proc again and again, and tells what changed as the same
/// records. What begins and ends between two looks is not seen, and samples have no stacks.
class Scan {
 public:
  /// Follows `root` and its descendants, and what this process has adopted.
  explicit Scan(std::uint32_t root, bool samples) : root_(root), samples_(samples) {}
  void look(prof::TimeNs nowNs, std::vector<sampler::PerfRecord>& into);

 private:
  struct Thread {
    std::uint32_t pid = 0;
    bool there = false;
    char state = 0;
    std::uint64_t runNs = 0;
    std::string name;
  };
  void lookAtProcess(std::uint32_t pid, std::uint32_t parent, prof::TimeNs nowNs,
                     std::vector<sampler::PerfRecord>& into);
  void lookAtThread(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent, prof::TimeNs nowNs,
                    std::vector<sampler::PerfRecord>& into);

  std::uint32_t root_;
  bool samples_;
  std::map<std::uint32_t, Thread> threads_;
};

}  // namespace lacuna::collector::proc
