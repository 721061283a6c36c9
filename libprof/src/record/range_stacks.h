// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lacuna/prof/events.h"
#include "lacuna/prof/said.h"

namespace lacuna::prof::recording {

/// What a range may carry beside its name.
struct Look {
  std::uint64_t payload = 0;
  std::uint64_t correlation = 0;
  std::uint32_t category = 0;
  std::uint32_t colour = 0;
  std::uint32_t text = 0;
  PayloadType payloadType = PayloadType::None;
  [[nodiscard]] bool isPlain() const {
    return (payload | correlation | category | colour | text) == 0 && payloadType == PayloadType::None;
  }
};

/// A range whose end has not been seen yet. Names are the guest's, so that it outlives the drainer in a checkpoint.
struct OpenRange : Look {
  TimeNs startNs = 0;
  std::uint32_t domain = 0;
  std::uint32_t name = 0;
  std::uint8_t flags = 0;
  bool said = false;  ///< what its queue does is among RangeStacks::said()
};

/// What a range of a queue says besides.
struct Said {
  SaidExecution execution;
  bool wait = false;  ///< a wait for the queue: only sequence, queue and kind of `execution` count
};

/// The memory that open ranges of all processes may take: a program may open any number of them.
class OpenBudget {
 public:
  static constexpr std::uint64_t kMost = std::uint64_t{96} << 20;
  bool take(std::uint64_t bytes) {
    if (bytes_ + bytes > kMost) return false;
    bytes_ += bytes;
    return true;
  }
  void give(std::uint64_t bytes) { bytes_ -= std::min(bytes, bytes_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// An open range as it is kept. Most are nothing but a name and a time.
struct KeptRange {
  TimeNs startNs = 0;
  std::uint32_t name = 0;
  std::uint8_t flags = 0;
  bool said = false;
  bool hasLook = false;  ///< its Look is the next one of the stack's
};
static_assert(sizeof(KeptRange) == 16);

/// How much of something that grows and shrinks at its end is as it was saved.
class SavedPart {
 public:
  void shrunkTo(std::size_t size) { same_ = std::min(same_, size); }
  [[nodiscard]] std::size_t same() const { return same_; }
  [[nodiscard]] bool changed(std::size_t size) const { return same_ != size || saved_ != size; }
  void saved(std::size_t size) { same_ = saved_ = size; }

 private:
  std::size_t same_ = 0;
  std::size_t saved_ = 0;
};

/// The open ranges of a thread in a domain.
class OpenStack {
 public:
  explicit OpenStack(std::uint32_t domain) : domain_(domain) {}
  [[nodiscard]] std::uint32_t domain() const { return domain_; }
  [[nodiscard]] bool empty() const { return kept_.empty() && skipped_ == 0; }
  [[nodiscard]] std::uint64_t size() const { return kept_.size() + skipped_; }

  /// False where there is no room: the range counts, so that its end is not another's, but is not kept.
  bool push(const OpenRange& range, OpenBudget& budget) {
    const bool look = !range.isPlain();
    if (skipped_ > 0 || !budget.take(costOf(look, range.said))) {
      ++skipped_;
      return false;
    }
    kept_.push_back({range.startNs, range.name, range.flags, range.said, look});
    if (look) looks_.push_back(range);
    return true;
  }
  void skip(std::uint64_t ranges) { skipped_ += ranges; }
  /// False where the innermost range is one that is not kept. Of a stack that is not empty.
  bool pop(OpenRange& range, OpenBudget& budget) {
    if (skipped_ > 0) {
      --skipped_;
      return false;
    }
    const KeptRange kept = kept_.back();
    kept_.pop_back();
    part_.shrunkTo(kept_.size());
    if (kept.hasLook) {
      static_cast<Look&>(range) = looks_.back();
      looks_.pop_back();
    }
    range.startNs = kept.startNs;
    range.domain = domain_;
    range.name = kept.name;
    range.flags = kept.flags;
    range.said = kept.said;
    budget.give(costOf(kept.hasLook, kept.said));
    return true;
  }

 private:
  friend class OpenStates;
  static constexpr std::uint64_t costOf(bool look, bool said) {
    return sizeof(KeptRange) + (look ? sizeof(Look) : 0) + (said ? sizeof(Said) : 0);
  }

  std::uint32_t domain_;
  std::uint64_t skipped_ = 0;  ///< ranges on top of the others
  std::uint64_t skippedSaved_ = 0;
  std::vector<KeptRange> kept_;
  std::vector<Look> looks_;
  SavedPart part_;
};

/// What a thread has open: one stack per domain, the program's own first.
class RangeStacks {
 public:
  OpenStack& of(std::uint32_t domain) {
    if (domain == stacks_[0].domain()) return stacks_[0];
    for (OpenStack& stack : stacks_) {
      if (stack.domain() == domain) return stack;
    }
    return stacks_.emplace_back(domain);
  }
  /// Of the open ranges that have some, innermost last.
  [[nodiscard]] bool hasSaid() const { return !said_.empty(); }
  void pushSaid(const Said& said) { said_.push_back(said); }
  Said popSaid() {
    const Said said = said_.back();
    said_.pop_back();
    saidPart_.shrunkTo(said_.size());
    return said;
  }
  template <class Visit>
  void forEach(Visit&& visit) {
    for (OpenStack& stack : stacks_) visit(stack);
  }

 private:
  friend class OpenStates;
  std::vector<Said> said_;
  SavedPart saidPart_;
  std::vector<OpenStack> stacks_ = std::vector<OpenStack>(1, OpenStack(0));
};

}  // namespace lacuna::prof::recording
