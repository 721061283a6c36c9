// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/anomaly_work.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::StringId;
using prof::TimeNs;
using prof::TimeWindow;

enum class Kind : std::uint8_t { Other, Check, Answer, Backward };

/// One outermost operator after the other.
class ThreadWork {
 public:
  ThreadWork(std::int64_t stackNs, IntervalSet& out) : stackNs_(stackNs), out_(out) {}

  void add(TimeNs startNs, TimeNs endNs, Kind kind, std::uint64_t sequence) {
    if (startNs >= outermost_.endNs) {
      // The backward pass adds no nodes, and its operators have the numbers of those that did.
      begin({startNs, endNs}, kind == Kind::Backward ? 0 : sequence);
      return;
    }
    if (kind == Kind::Check && !checkNs_) checkNs_ = startNs;
    if (kind == Kind::Answer && checkNs_) {
      out_.add({*checkNs_, endNs});
      checkNs_.reset();
    }
  }

 private:
  void begin(TimeWindow outermost, std::uint64_t sequence) {
    // The number of the next operator in the graph is this one's and as many more as nodes were
    // added.
    if (sequence > sequence_ && sequence_ > 0 && stackNs_ > 0) {
      const auto nodes =
          static_cast<std::int64_t>(std::min<std::uint64_t>(sequence - sequence_, INT32_MAX));
      const TimeNs stacksNs =
          std::min(adder_.endNs - adder_.startNs, prof::productOf(nodes, stackNs_));
      out_.add({adder_.startNs, adder_.startNs + stacksNs});
    }
    if (sequence >= sequence_ && sequence > 0) {
      sequence_ = sequence;
      adder_ = outermost;
    }
    outermost_ = outermost;
    checkNs_.reset();
  }

  std::int64_t stackNs_;
  IntervalSet& out_;
  TimeWindow outermost_{0, 0};
  TimeWindow adder_{0, 0};  ///< the last operator with a number in the graph
  std::uint64_t sequence_ = 0;
  std::optional<TimeNs> checkNs_;  ///< where a check has begun that nobody has read yet
};

}  // namespace

prof::Status addAnomalyWork(const Store& store, TimeWindow window, const Selection& only,
                            std::int64_t stackNs, IntervalSet& times) {
  std::unordered_map<prof::ThreadId, ThreadWork> threads;
  std::unordered_map<StringId, Kind> kinds;
  NameClasses classes(store);
  const auto kindOf = [&](StringId name) {
    const auto [kind, isNew] = kinds.try_emplace(name, Kind::Other);
    if (!isNew) return kind->second;
    const std::string_view text = store.text(name);
    kind->second = checksNumbers(text)      ? Kind::Check
                   : text == "aten::item"   ? Kind::Answer
                   : isBackwardKernel(text) ? Kind::Backward
                                            : Kind::Other;
    return kind->second;
  };
  return store
      .scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain, &Range::category,
            &Range::name, &Range::queue, &Range::payload, &Range::payloadType>(
          window, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category,
                      auto name, auto queue, auto payload, auto type) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (queue[i] || !only.holds(thread[i])) continue;
              if (classes.ofRange(domain[i], category[i], name[i]) != Activity::Operator) continue;
              threads.try_emplace(thread[i], stackNs, times)
                  .first->second.add(start[i], start[i] + dur[i], kindOf(name[i]),
                                     type[i] == prof::PayloadType::U64 ? payload[i] : 0);
            }
          });
}

}  // namespace lacuna::analyzer
