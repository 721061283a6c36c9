// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lacuna/prof/announced.h"
#include "lacuna/prof/events.h"

namespace lacuna::prof::recording {

/// The data that a range may carry beside its name.
struct RangeDetails {
  std::uint64_t payload = 0;
  std::uint64_t correlation = 0;
  std::uint32_t category = 0;
  std::uint32_t colour = 0;
  std::uint32_t text = 0;
  PayloadType payloadType = PayloadType::None;
  [[nodiscard]] bool isPlain() const {
    return (payload | correlation | category | colour | text) == 0 &&
           payloadType == PayloadType::None;
  }
};

/// A range whose end has not been seen yet. Names are the guest's, so that it outlives the drainer
/// in a checkpoint.
struct OpenRange : RangeDetails {
  TimeNs startNs = 0;
  std::uint32_t domain = 0;
  std::uint32_t name = 0;
  std::uint32_t times =
      1;  ///< how many ranges it stands for: of several nothing is known but that they began
  std::uint8_t flags = 0;
  bool hasQueueData = false;  ///< RangeStacks holds the data of its queue
};

/// The further data of a range of a queue.
struct QueueData {
  AnnouncedExecution execution;
  /// 1: a wait for the queue; only sequence, queue and kind of `execution` count. No bool, for a
  /// checkpoint may hold any.
  std::uint8_t wait = 0;
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
  /// Bytes that are there already count, also beyond the most.
  void takeAnyway(std::uint64_t bytes) { bytes_ += bytes; }
  void give(std::uint64_t bytes) { bytes_ -= std::min(bytes, bytes_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// An open range as it is kept. Most are nothing but a name and a time. Its flags are numbers, 0 or
/// 1: a checkpoint may hold any, and a bool may not.
struct KeptRange {
  TimeNs startNs = 0;
  std::uint32_t name = 0;  ///< of several ranges: how many
  std::uint8_t flags = 0;
  std::uint8_t hasQueueData = 0;
  std::uint8_t hasDetails = 0;  ///< its RangeDetails are the next ones of the stack's
  std::uint8_t isSeveral = 0;   ///< stands for ranges that began unseen, one in the other
  [[nodiscard]] std::uint32_t times() const { return isSeveral ? name : 1; }
};
static_assert(sizeof(KeptRange) == 16);

/// Tracks how much of something that grows and shrinks at its end is as it was saved.
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
  static constexpr std::uint64_t kAll = UINT64_MAX;
  /// No domain is called so: a stack of this name counts its ranges and keeps none.
  static constexpr std::uint32_t kShared = 1u << 24;

  [[nodiscard]] bool empty() const { return depth_ == 0 && skipped_ == 0; }
  [[nodiscard]] std::uint64_t size() const { return depth_ + skipped_; }

  /// False where there is no room: the range counts, so that its end is not another's, but is not
  /// kept.
  bool push(const OpenRange& range, OpenBudget& budget) {
    const bool hasDetails = !range.isPlain();
    if (skipped_ > 0 || domain_ == kShared ||
        !budget.take(costOf(hasDetails, range.hasQueueData))) {
      skipped_ += range.times;
      return false;
    }
    depth_ += range.times;
    const bool several = range.times > 1;
    kept_.push_back({range.startNs, several ? range.times : range.name, range.flags,
                     range.hasQueueData, hasDetails, several});
    if (hasDetails) details_.push_back(range);
    return true;
  }
  /// Ends so many of those that are not kept, at most: there may be billions of them. Returns how
  /// many.
  std::uint64_t endSkipped(std::uint64_t most) {
    const std::uint64_t ended = std::min(most, skipped_);
    skipped_ -= ended;
    return ended;
  }
  /// Ends the innermost range, and up to `most` where it stands for several. False where it is one
  /// that is not kept. The stack must not be empty.
  bool pop(OpenRange& range, OpenBudget& budget, std::uint64_t most = 1) {
    if (skipped_ > 0) {
      --skipped_;
      return false;
    }
    KeptRange& top = kept_.back();
    const KeptRange kept = top;
    range.times = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kept.times()));
    depth_ -= range.times;
    part_.shrunkTo(kept_.size() - 1);
    if (range.times < kept.times()) {
      top.name -= range.times;
    } else {
      kept_.pop_back();
      budget.give(costOf(kept.hasDetails, kept.hasQueueData));
    }
    if (kept.hasDetails) {
      static_cast<RangeDetails&>(range) = details_.back();
      details_.pop_back();
    }
    range.startNs = kept.startNs;
    range.domain = domain_;
    range.name = kept.isSeveral ? 0 : kept.name;
    range.flags = kept.flags;
    range.hasQueueData = kept.hasQueueData;
    return true;
  }

 private:
  friend class OpenStates;
  friend class RangeStacks;
  static constexpr std::uint64_t costOf(bool hasDetails, bool hasQueueData) {
    return sizeof(KeptRange) + (hasDetails ? sizeof(RangeDetails) : 0) +
           (hasQueueData ? sizeof(QueueData) : 0);
  }

  std::uint32_t domain_;
  bool isNoted_ = false;       ///< among those that RangeStacks closes
  std::uint64_t depth_ = 0;    ///< ranges that are kept
  std::uint64_t skipped_ = 0;  ///< ranges on top of the others
  std::uint64_t skippedSaved_ = 0;
  std::vector<KeptRange> kept_;
  std::vector<RangeDetails> details_;
  SavedPart part_;
};

/// A thread's open ranges: one stack per domain, the program's own first. A thread may name
/// millions of domains, so their stacks are in the budget of the open ranges. Domains without room
/// for a stack share one that keeps no range.
class RangeStacks {
 public:
  /// Where ranges of the domain begin. Valid until another domain is asked for.
  OpenStack& of(std::uint32_t domain, OpenBudget& budget) {
    const std::size_t at = placeOf(domain);
    return noted(at != kNone ? at : add(domain, budget));
  }
  /// Where ranges of the domain end; nullptr when it has none open. Valid as above.
  OpenStack* find(std::uint32_t domain) {
    for (const std::uint32_t each : {domain, OpenStack::kShared}) {
      const std::size_t at = placeOf(each);
      if (at != kNone && !stacks_[at].empty()) return &stacks_[at];
    }
    return nullptr;
  }
  /// Calls `close` with each stack in which ranges have begun since the last time; it ends all of
  /// them.
  template <class Close>
  void closeAll(Close&& close) {
    for (const std::uint32_t at : noted_) {
      close(stacks_[at]);
      stacks_[at].isNoted_ = false;
    }
    noted_.clear();
  }
  /// The thread is gone. Nothing may be asked of it any more.
  void giveBack(OpenBudget& budget) { budget.give((stacks_.size() - 1) * kStackCost); }
  /// The queue data of the open ranges that have some, innermost last.
  [[nodiscard]] bool hasQueueData() const { return !queueData_.empty(); }
  void pushQueueData(const QueueData& data) { queueData_.push_back(data); }
  QueueData popQueueData() {
    const QueueData data = queueData_.back();
    queueData_.pop_back();
    queueDataPart_.shrunkTo(queueData_.size());
    return data;
  }

 private:
  friend class OpenStates;
  static constexpr std::size_t kNone = SIZE_MAX;
  /// With its place in the table.
  static constexpr std::uint64_t kStackCost = sizeof(OpenStack) + 48;

  [[nodiscard]] std::size_t placeOf(std::uint32_t domain) const {
    const std::size_t few = std::min(kFew, stacks_.size());
    for (std::size_t i = 0; i < few; ++i) {
      if (stacks_[i].domain() == domain) return i;
    }
    if (stacks_.size() <= kFew) return kNone;
    const auto at = others_.find(domain);
    return at != others_.end() ? at->second : kNone;
  }
  std::size_t add(std::uint32_t domain, OpenBudget& budget) {
    if (!budget.take(kStackCost)) {
      if (const std::size_t shared = placeOf(OpenStack::kShared); shared != kNone) return shared;
      domain = OpenStack::kShared;
      budget.takeAnyway(kStackCost);
    }
    return append(domain);
  }
  std::size_t append(std::uint32_t domain) {
    others_.emplace(domain, stacks_.size());
    stacks_.emplace_back(domain);
    return stacks_.size() - 1;
  }
  OpenStack& noted(std::size_t at) {
    if (!std::exchange(stacks_[at].isNoted_, true))
      noted_.push_back(static_cast<std::uint32_t>(at));
    return stacks_[at];
  }
  /// As it was saved, whether there is room or not.
  OpenStack& loaded(std::uint32_t domain, OpenBudget& budget) {
    std::size_t at = placeOf(domain);
    if (at == kNone) {
      budget.takeAnyway(kStackCost);
      at = append(domain);
    }
    return noted(at);
  }

  std::vector<QueueData> queueData_;
  SavedPart queueDataPart_;
  static constexpr std::size_t kFew = 4;  ///< are found quicker without a table
  std::vector<OpenStack> stacks_ = std::vector<OpenStack>(1, OpenStack(0));
  std::unordered_map<std::uint32_t, std::size_t>
      others_;                        ///< where the stack of a domain is, but for the first
  std::vector<std::uint32_t> noted_;  ///< places of those that may have open ranges
};

}  // namespace lacuna::prof::recording
