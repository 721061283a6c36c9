// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/prof/events.h"
#include "lacuna/prof/said.h"

namespace lacuna::prof::recording {

/// A range whose end has not been seen yet. Names are the guest's, so that it outlives the drainer in a checkpoint.
struct OpenRange {
  TimeNs startNs = 0;
  std::uint64_t payload = 0;
  std::uint64_t correlation = 0;
  std::uint32_t domain = 0;
  std::uint32_t name = 0;
  std::uint32_t category = 0;
  std::uint32_t colour = 0;
  std::uint32_t text = 0;
  PayloadType payloadType = PayloadType::None;
  std::uint8_t flags = 0;
  bool said = false;  ///< what its queue does is among RangeStacks::said()
};

/// What a range of a queue says besides.
struct Said {
  SaidExecution execution;
  bool wait = false;  ///< a wait for the queue: only sequence, queue and kind of `execution` count
};

/// What a thread has open: one stack per domain, the program's own first.
class RangeStacks {
 public:
  std::vector<OpenRange>& of(std::uint32_t domain) {
    if (domain == stacks_[0].domain) return stacks_[0].open;
    for (Stack& stack : stacks_) {
      if (stack.domain == domain) return stack.open;
    }
    stacks_.push_back({domain, {}});
    return stacks_.back().open;
  }
  /// Of the open ranges that have some, innermost last.
  std::vector<Said>& said() { return said_; }
  template <class Visit>
  void forEach(Visit&& visit) {
    for (Stack& stack : stacks_) visit(stack.domain, stack.open);
  }

 private:
  struct Stack {
    std::uint32_t domain = 0;
    std::vector<OpenRange> open;
  };
  std::vector<Said> said_;
  std::vector<Stack> stacks_ = std::vector<Stack>(1);
};

}  // namespace lacuna::prof::recording
