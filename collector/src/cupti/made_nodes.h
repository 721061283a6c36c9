// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "lacuna/prof/events.h"

namespace lacuna::collector::cupti {

/// Nodes of graphs that the program has made since they were last taken. From any thread.
class MadeNodes {
 public:
  /// May throw for want of memory. What nobody takes is dropped and counted at some size.
  void add(const prof::GraphNode& node) {
    std::lock_guard lock(mutex_);
    if (made_.size() < kMost) {
      made_.push_back(node);
    } else {
      ++lost_;
    }
  }
  std::vector<prof::GraphNode> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(made_, {});
  }
  /// Those that were dropped since this was last asked.
  std::uint64_t takeLost() {
    std::lock_guard lock(mutex_);
    return std::exchange(lost_, 0);
  }

 private:
  /// Taken several times a second, this is never reached: 32 bytes each.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::mutex mutex_;
  std::vector<prof::GraphNode> made_;
  std::uint64_t lost_ = 0;
};

}  // namespace lacuna::collector::cupti
