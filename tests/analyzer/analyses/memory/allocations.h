// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::test {

inline constexpr std::uint64_t kMiB = 1 << 20;

/// Rows of the allocation table, one a nanosecond.
class Allocations {
 public:
  void add(prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes,
           prof::MemoryRole role = prof::MemoryRole::Other) {
    builder_.append(prof::Allocation{.timeNs = ++now_,
                                     .device = prof::DeviceId(1),
                                     .action = action,
                                     .role = role,
                                     .address = address,
                                     .bytes = bytes});
  }
  /// The same at a moment of its own, made by "matmul".
  void addAt(prof::TimeNs at, prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes,
             prof::MemoryRole role = prof::MemoryRole::Other) {
    now_ = at - 1;
    builder_.append(prof::Allocation{.timeNs = ++now_,
                                     .device = prof::DeviceId(1),
                                     .action = action,
                                     .role = role,
                                     .address = address,
                                     .bytes = bytes,
                                     .op = builder_.intern("matmul")});
  }
  std::shared_ptr<const analyzer::Store> built() { return builder_.build(); }
  std::vector<analyzer::DeviceMemory> analysed() {
    return std::move(*analyzer::deviceMemory(*builder_.build(), {}));
  }

 private:
  analyzer::StoreBuilder builder_;
  prof::TimeNs now_ = 0;
};

inline analyzer::Steps evenSteps(int count) {
  analyzer::Steps steps;
  for (int i = 0; i < count; ++i)
    steps.all.push_back({.index = static_cast<std::uint64_t>(i),
                         .name = "step",
                         .startNs = 100 * (i + 1),
                         .endNs = 100 * (i + 2),
                         .samples = 0,
                         .warmUp = false});
  return steps;
}

}  // namespace lacuna::test
