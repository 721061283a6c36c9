// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "lacuna/analyzer/store.h"
#include "links/correlation_map.h"
#include "links/link_builders.h"
#include "links/range_launches.h"

namespace lacuna::analyzer {
namespace {

using Table = EventRef::Table;
using prof::ProcessId;

constexpr std::uint64_t kMostRows = LaunchLinks::kIsRange;

/// Remembers the owner of the last id, as neighbouring rows mostly share it.
template <class Id>
class OwnerCache {
 public:
  explicit OwnerCache(const OwnerTree& owners) : owners_(owners) {}
  ProcessId operator()(Id id) {
    if (!known_ || id != last_) {
      last_ = id;
      process_ = owners_.processOf(id);
      known_ = true;
    }
    return process_;
  }

 private:
  const OwnerTree& owners_;
  Id last_;
  ProcessId process_;
  bool known_ = false;
};

class LaunchBuilder {
 public:
  LaunchBuilder(const Store& store, const OwnerTree& owners, const Links::Wanted& wanted)
      : store_(store), owners_(owners), wanted_(wanted) {}

  std::optional<LaunchLinks> build() {
    links_.kernels = store_.rows<prof::Kernel>();
    links_.copies = store_.rows<prof::Memcpy>();
    links_.memsets = store_.rows<prof::Memset>();
    const std::uint64_t work = links_.kernels + links_.copies + links_.memsets;
    if (work == 0 || work >= kMostRows || store_.rows<prof::ApiCall>() >= kMostRows ||
        store_.rows<prof::Range>() >= kMostRows) {
      return std::move(links_);
    }
    // Ranges first: a call with the same correlation takes their place.
    readRanges();
    readCalls();
    links_.launch.assign(work, kNoLink);
    readWork<&prof::Kernel::queue, &prof::Kernel::correlation>(0);
    readWork<&prof::Memcpy::queue, &prof::Memcpy::correlation>(links_.kernels);
    readWork<&prof::Memset::queue, &prof::Memset::correlation>(links_.kernels + links_.copies);
    if (!goesOn()) return std::nullopt;
    chain(work);
    return std::move(links_);
  }

 private:
  /// Asked for each block that is read; once it is false it stays so.
  bool goesOn() {
    calledOff_ = calledOff_ || (wanted_ && !wanted_());
    return !calledOff_;
  }

  void readRanges() {
    using prof::Range;
    const RangeLaunches launches(store_);
    OwnerCache<prof::ThreadId> processOf(owners_);
    (void)store_.scan<&Range::thread, &Range::correlation, &Range::domain>(
        {}, [&](std::uint64_t first, auto threads, auto correlations, auto domains) {
          for (std::size_t i = 0; i < threads.size(); ++i) {
            if (!threads[i] || !launches(correlations[i], domains[i])) continue;
            maps_[processOf(threads[i])].set(
                correlations[i], static_cast<std::uint32_t>(first + i) | LaunchLinks::kIsRange);
          }
          return goesOn();
        });
  }

  void readCalls() {
    using prof::ApiCall;
    OwnerCache<prof::ThreadId> processOf(owners_);
    (void)store_.scan<&ApiCall::thread, &ApiCall::correlation>(
        {}, [&](std::uint64_t first, auto threads, auto correlations) {
          for (std::size_t i = 0; i < threads.size(); ++i) {
            if (correlations[i] == 0 || !threads[i]) continue;
            maps_[processOf(threads[i])].set(correlations[i],
                                             static_cast<std::uint32_t>(first + i));
          }
          return goesOn();
        });
  }

  template <auto Queue, auto Correlation>
  void readWork(std::uint64_t firstNumber) {
    OwnerCache<prof::QueueId> processOf(owners_);
    (void)store_.scan<Queue, Correlation>(
        {}, [&](std::uint64_t first, auto queues, auto correlations) {
          for (std::size_t i = 0; i < queues.size(); ++i) {
            if (correlations[i] == 0) continue;
            const auto map = maps_.find(processOf(queues[i]));
            if (map == maps_.end()) continue;
            links_.launch[firstNumber + first + i] = map->second.find(correlations[i]);
          }
          return goesOn();
        });
  }

  void chain(std::uint64_t work) {
    bool calls = false;
    bool ranges = false;
    for (const std::uint32_t launch : links_.launch) {
      if (launch != kNoLink) ((launch & LaunchLinks::kIsRange) != 0 ? ranges : calls) = true;
    }
    if (calls) links_.firstOfCall.assign(store_.rows<prof::ApiCall>(), kNoLink);
    if (ranges) links_.firstOfRange.assign(store_.rows<prof::Range>(), kNoLink);
    links_.next.assign(work, kNoLink);
    for (std::uint64_t i = work; i-- > 0;) {
      const std::uint32_t launch = links_.launch[i];
      if (launch == kNoLink) continue;
      const std::uint32_t row = launch & ~LaunchLinks::kIsRange;
      std::uint32_t& head = row == launch ? links_.firstOfCall[row] : links_.firstOfRange[row];
      links_.next[i] = head;
      head = static_cast<std::uint32_t>(i);
    }
  }

  const Store& store_;
  const OwnerTree& owners_;
  const Links::Wanted& wanted_;
  bool calledOff_ = false;
  std::unordered_map<ProcessId, CorrelationMap> maps_;
  LaunchLinks links_;
};

}  // namespace

std::uint64_t LaunchLinks::number(const EventRef& work) const {
  switch (work.table) {
    case Table::Kernel:
      return work.row < kernels ? work.row : UINT64_MAX;
    case Table::Memcpy:
      return work.row < copies ? kernels + work.row : UINT64_MAX;
    case Table::Memset:
      return work.row < memsets ? kernels + copies + work.row : UINT64_MAX;
    default:
      return UINT64_MAX;
  }
}

EventRef LaunchLinks::work(std::uint64_t number) const {
  if (number < kernels) return {Table::Kernel, number};
  if (number < kernels + copies) return {Table::Memcpy, number - kernels};
  return {Table::Memset, number - kernels - copies};
}

RangeLaunches::RangeLaunches(const Store& store) {
  bool isOwn = false;
  for (std::uint64_t i = 0; i < store.rows<prof::Environment>(); ++i) {
    const auto row = store.row<prof::Environment>(i);
    const std::string_view key = store.text(row.key);
    // Merged traces of several kinds keep for each input what it was.
    countsOperators_ |= key.ends_with("source.format") && store.text(row.value) == "kineto";
    isOwn |= key.starts_with("chrome.") && key.substr(7) == kOwnChromeMember;
  }
  countsOperators_ &= !isOwn;
}

std::optional<LaunchLinks> buildLaunchLinks(const Store& store, const OwnerTree& owners,
                                            const Links::Wanted& wanted) {
  return LaunchBuilder(store, owners, wanted).build();
}

}  // namespace lacuna::analyzer
