// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "lacuna/prof/events.h"

namespace lacuna::collector::cupti {

/// Nodes of graphs that the program has made since they were last taken. From any thread.
class MadeNodes {
 public:
  using IdOf = decltype(&::cuptiGetGraphNodeId);
  /// Numbers nodes by that function from now on; null: notes none.
  void follow(IdOf idOf) { idOf_ = idOf; }

  /// The thread that calls made a node, as CUPTI reports it. A node of an executable graph is a
  /// copy, and CUPTI reports each copy. May throw for want of memory. Nodes that CUPTI cannot
  /// number are counted, and so are those that nobody takes, from some number on.
  void made(bool isCopy, const CUpti_GraphData& made) {
    const IdOf idOf = idOf_.load();
    prof::GraphNode node{.timeNs = nowNs(),
                         .thread = prof::ThreadId(static_cast<std::uint32_t>(::gettid()))};
    if (idOf == nullptr) return;
    const auto number = [&](CUgraphNode of, std::uint64_t& id) {
      return idOf(of, &id) == CUPTI_SUCCESS || idOf(of, &id) == CUPTI_SUCCESS;
    };
    const bool isKnown = number(made.node, node.id) && node.id != 0;
    const bool isTied = !isCopy || number(made.originalNode, node.original);
    if (!isTied) node.original = 0;
    std::lock_guard lock(mutex_);
    const bool isKept = isKnown && made_.size() < kMost;
    if (isKept) made_.push_back(node);
    if (!isKept || !isTied) ++lost_;
  }
  std::vector<prof::GraphNode> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(made_, {});
  }
  /// Those that were dropped, or whose original is not known, since this was last asked.
  std::uint64_t takeLost() {
    std::lock_guard lock(mutex_);
    return std::exchange(lost_, 0);
  }

 private:
  /// Taken several times a second, this is never reached: 32 bytes each.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::atomic<IdOf> idOf_ = nullptr;
  std::mutex mutex_;
  std::vector<prof::GraphNode> made_;
  std::uint64_t lost_ = 0;
};

}  // namespace lacuna::collector::cupti
