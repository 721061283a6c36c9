// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "links/link_builders.h"
#include "store/row_feed.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// The ranges of one thread or queue that may still enclose what comes. While two enclose a span,
/// the later one is preferred. So a range that ends no later than its successor is of no more use:
/// the ends fall strictly, and each range is pushed and popped once.
class Enclosing {
 public:
  std::uint32_t push(TimeNs start, TimeNs end, std::uint32_t row) {
    while (!open_.empty() && (open_.back().end <= start || open_.back().end < end))
      open_.pop_back();
    const std::uint32_t parent = open_.empty() ? kNoLink : open_.back().row;
    if (!open_.empty() && open_.back().end == end) open_.pop_back();
    open_.push_back({end, row});
    return parent;
  }
  std::uint32_t around(TimeNs start, TimeNs end) {
    while (!open_.empty() && open_.back().end <= start) open_.pop_back();
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].end >= end) return open_[i].row;
    }
    return kNoLink;
  }

 private:
  struct Open {
    TimeNs end;
    std::uint32_t row;
  };
  std::vector<Open> open_;
};

class NestingBuilder {
 public:
  NestingBuilder(const Store& store, const Links::Wanted& wanted)
      : store_(store), wanted_(wanted) {}

  std::optional<NestingLinks> build() {
    using A = prof::ApiCall;
    using R = prof::Range;
    if (store_.rows<R>() == 0 || store_.rows<R>() >= kNoLink || store_.rows<A>() >= kNoLink)
      return NestingLinks();
    links_.parent.assign(store_.rows<R>(), kNoLink);
    if (store_.rows<A>() == 0) {
      if (!takeRanges([](TimeNs) {})) return std::nullopt;
      return std::move(links_);
    }
    links_.aroundCall.assign(store_.rows<A>(), kNoLink);
    RowFeed<&A::startNs, &A::durNs, &A::thread> calls(store_);
    const auto takeCalls = [&](TimeNs before) {
      for (; calls.valid() && calls.get<0>() < before; calls.step()) {
        const TimeNs start = calls.get<0>();
        const auto found = threads_.find(calls.get<2>().value);
        if (found == threads_.end()) continue;
        links_.aroundCall[calls.row()] = found->second.around(start, start + calls.get<1>());
      }
    };
    if (!takeRanges(takeCalls)) return std::nullopt;
    takeCalls(INT64_MAX);
    return std::move(links_);
  }

 private:
  /// Calls before(t) when all ranges that start before t are open. False where that is no longer
  /// wanted.
  template <class Before>
  bool takeRanges(Before&& before) {
    using R = prof::Range;
    bool goesOn = true;
    (void)store_.scan<&R::startNs, &R::durNs, &R::thread, &R::queue, &R::kind>(
        {},
        [&](std::uint64_t first, auto starts, auto lengths, auto threads, auto queues, auto kinds) {
          for (std::size_t i = 0; i < starts.size(); ++i) {
            if (kinds[i] == prof::RangeKind::StartEnd && !queues[i]) continue;
            before(starts[i]);
            Enclosing& open = queues[i] ? queues_[queues[i].value] : threads_[threads[i].value];
            links_.parent[first + i] =
                open.push(starts[i], starts[i] + lengths[i], static_cast<std::uint32_t>(first + i));
          }
          goesOn = !wanted_ || wanted_();
          return goesOn;
        });
    return goesOn;
  }

  const Store& store_;
  const Links::Wanted& wanted_;
  std::unordered_map<std::uint32_t, Enclosing> threads_, queues_;
  NestingLinks links_;
};

}  // namespace

std::optional<NestingLinks> buildNestingLinks(const Store& store, const Links::Wanted& wanted) {
  return NestingBuilder(store, wanted).build();
}

}  // namespace lacuna::analyzer
