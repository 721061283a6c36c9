// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "lacuna/prof/collective_names.h"

/// Which operator began what a library of the host executes in threads of its own.
namespace lacuna::collector::torch {

using prof::kNoCollective;

struct CollectiveCall {
  std::uint64_t correlation = 0;
  std::int64_t startNs = 0;
  std::uint32_t thread = 0;
};

/// The calls that wait for their execution. Those of one kind are begun and taken up in one order;
/// groups overtake each other. Safe for any thread; allocates nothing. When too many of a kind
/// wait, the earliest are dropped.
class CollectiveCalls {
 public:
  static constexpr std::size_t kMost = 256;  ///< of a kind

  void put(std::size_t kind, const CollectiveCall& call) {
    if (kind >= kNoCollective) return;
    const std::scoped_lock lock(mutex_);
    Waiting& waiting = waiting_[kind];
    waiting.calls[waiting.end++ % kMost] = {call, ++puts_};
    if (waiting.end - waiting.begin > kMost) ++waiting.begin;
  }

  /// The first one that an execution of this kind may be of.
  std::optional<CollectiveCall> take(std::size_t kind) {
    const std::scoped_lock lock(mutex_);
    if (kind < kNoCollective) executed_[kind] = true;
    Waiting* from =
        kind < kNoCollective && !waiting_[kind].empty() ? &waiting_[kind] : earliestOfOthers();
    if (from == nullptr) return std::nullopt;
    return from->calls[from->begin++ % kMost].call;
  }

 private:
  struct Numbered {
    CollectiveCall call;
    std::uint64_t number = 0;
  };
  struct Waiting {
    [[nodiscard]] bool empty() const { return begin == end; }
    [[nodiscard]] std::uint64_t first() const { return calls[begin % kMost].number; }

    std::size_t begin = 0, end = 0;
    std::array<Numbered, kMost> calls{};
  };

  /// Some are executed as another kind (a reduction to shares as one to all): of kinds that were
  /// never executed by their own name.
  Waiting* earliestOfOthers() {
    Waiting* out = nullptr;
    for (std::size_t kind = 0; kind < kNoCollective; ++kind) {
      Waiting& waiting = waiting_[kind];
      if (executed_[kind] || waiting.empty()) continue;
      if (out == nullptr || waiting.first() < out->first()) out = &waiting;
    }
    return out;
  }

  std::mutex mutex_;
  std::uint64_t puts_ = 0;
  std::array<bool, kNoCollective> executed_{};
  std::array<Waiting, kNoCollective> waiting_{};
};

}  // namespace lacuna::collector::torch
