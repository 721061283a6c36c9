// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/drain/range_stacks.h"

namespace lacuna::prof::recording {

struct StartedRange {
  OpenRange range;
  ThreadId thread;
};

/// The open ranges of a process that may end on any thread, by the number that the process has
/// given them.
class StartedRanges {
 public:
  /// False where there is no room. Replaces one of the same number.
  bool add(std::uint64_t number, const StartedRange& started, OpenBudget& budget) {
    (void)take(number, budget);
    const bool hasDetails = !started.range.isPlain();
    if (!budget.take(costOf(hasDetails))) return false;
    const std::uint32_t at = hasDetails ? keep(started.range) : 0;
    kept_[number] = {started.range.startNs, started.range.name, started.range.domain,
                     started.thread, at};
    fresh_.push_back(number);
    if (fresh_.size() > 2 * kept_.size() + kFew) forgetEnded();
    return true;
  }
  std::optional<StartedRange> take(std::uint64_t number, OpenBudget& budget) {
    const auto at = kept_.find(number);
    if (at == kept_.end()) return {};
    const StartedRange started = expand(at->second);
    if (at->second.details != 0) free_.push_back(at->second.details);
    if (at->second.saved) ended_.push_back(number);
    budget.give(costOf(at->second.details != 0));
    kept_.erase(at);
    return started;
  }
  template <class Visit>
  void takeAll(OpenBudget& budget, Visit&& visit) {
    for (const auto& [number, kept] : kept_) {
      visit(expand(kept));
      budget.give(costOf(kept.details != 0));
    }
    *this = {};
  }

 private:
  friend class OpenStates;
  static constexpr std::size_t kFew = 1024;

  struct Kept {
    TimeNs startNs;
    std::uint32_t name;
    std::uint32_t domain : 24;
    std::uint32_t saved : 8 = 0;
    ThreadId thread;
    std::uint32_t details;  ///< its place in details_, 0 for none
    Kept() = default;
    Kept(TimeNs start, std::uint32_t called, std::uint32_t in, ThreadId on, std::uint32_t at)
        : startNs(start), name(called), domain(in & 0xffffff), thread(on), details(at) {}
  };
  static_assert(sizeof(Kept) == 24);

  /// With what the map takes for each.
  static constexpr std::uint64_t costOf(bool hasDetails) {
    return 64 + (hasDetails ? sizeof(RangeDetails) : 0);
  }

  std::uint32_t keep(const RangeDetails& details) {
    if (free_.empty()) {
      details_.push_back(details);
      return static_cast<std::uint32_t>(details_.size() - 1);
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    details_[at] = details;
    return at;
  }
  [[nodiscard]] StartedRange expand(const Kept& kept) const {
    StartedRange started;
    static_cast<RangeDetails&>(started.range) = details_[kept.details];
    started.range.startNs = kept.startNs;
    started.range.name = kept.name;
    started.range.domain = kept.domain;
    started.thread = kept.thread;
    return started;
  }
  void forgetEnded() {
    std::erase_if(fresh_, [&](std::uint64_t number) { return !kept_.contains(number); });
  }

  std::unordered_map<std::uint64_t, Kept> kept_;
  std::vector<RangeDetails> details_ = std::vector<RangeDetails>(1);
  std::vector<std::uint32_t> free_;
  std::vector<std::uint64_t> fresh_;  ///< begun since they were saved; some have ended since
  std::vector<std::uint64_t> ended_;  ///< of the saved ones
};

}  // namespace lacuna::prof::recording
