// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "lacuna/analyzer/memory_use.h"
#include "lacuna/analyzer/store_builder.h"

namespace lacuna::analyzer::test {

using namespace prof;

constexpr std::uint64_t kMiB = 1 << 20;

/// Rows of the allocation table, one a nanosecond.
class Allocations {
 public:
  void add(MemoryAction action, std::uint64_t address, std::uint64_t bytes, MemoryRole role = MemoryRole::Other) {
    builder_.append(Allocation{
        .timeNs = ++now_, .device = DeviceId(1), .action = action, .role = role, .address = address, .bytes = bytes});
  }
  /// The same at a moment of its own, made by "matmul".
  void addAt(TimeNs at, MemoryAction action, std::uint64_t address, std::uint64_t bytes,
             MemoryRole role = MemoryRole::Other) {
    now_ = at - 1;
    builder_.append(Allocation{.timeNs = ++now_,
                               .device = DeviceId(1),
                               .action = action,
                               .role = role,
                               .address = address,
                               .bytes = bytes,
                               .op = builder_.intern("matmul")});
  }
  std::shared_ptr<const Store> built() { return builder_.build(); }
  std::vector<DeviceMemory> analysed() { return std::move(*deviceMemory(*builder_.build(), {})); }

 private:
  StoreBuilder builder_;
  TimeNs now_ = 0;
};

Steps evenSteps(int count) {
  Steps steps;
  for (int i = 0; i < count; ++i)
    steps.all.push_back({.index = static_cast<std::uint64_t>(i),
                         .name = "step",
                         .startNs = 100 * (i + 1),
                         .endNs = 100 * (i + 2),
                         .samples = 0,
                         .warmUp = false});
  return steps;
}

}  // namespace lacuna::analyzer::test
