// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/prof/bounds.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {

/// Ids at the end of the range stand for the names that copies and memsets go by when the trace
/// gives none.
inline constexpr std::uint32_t kUnnamedCopy = 0xFFFFFF00;
inline constexpr std::uint32_t kUnnamedMemset = 0xFFFFFF40;

/// Reads what tracks are made of, each track's events in time order, and hands it to a sink:
///   event(TrackKind, id of the thread, process or queue, startNs, durNs, name)
///   sample(counter, timeNs, value)
///   allocation(device, timeNs, action, role, address, bytes)
///   advance(rows) → false to stop
/// From a moment on it reads only the blocks of an .lcn file that reach it, and leaves out what
/// starts before.
template <class Sink>
class TrackFeed {
 public:
  TrackFeed(const Store& store, Sink& sink, prof::TimeNs from = INT64_MIN)
      : store_(store), sink_(sink), from_(from) {}

  prof::Status read() {
    for (const auto step : {&TrackFeed::readRanges, &TrackFeed::readCalls, &TrackFeed::readWork,
                            &TrackFeed::readCounters, &TrackFeed::readMemory}) {
      if (prof::Status status = (this->*step)(); !status) return status;
      if (stopped_) return prof::Error{"opening was cancelled"};
    }
    return {};
  }

 private:
  struct Buffered {
    prof::TimeNs start, length;
    prof::StringId name;
  };

  bool advance(std::uint64_t rows) {
    stopped_ = stopped_ || !sink_.advance(rows);
    return !stopped_;
  }

  /// visit(std::span<const ValueOf<Members>>…), in time order.
  template <auto Time, auto... Members, class Visit>
  prof::Status rows(Visit&& visit) {
    if (from_ == INT64_MIN) {
      return store_.scan<Time, Members...>({}, [&](std::uint64_t, auto time, auto... values) {
        visit(time, values...);
        return advance(time.size());
      });
    }
    return lateRows<Time, Members...>(visit);
  }

  template <auto Time, auto... Members, class Visit>
  prof::Status lateRows(Visit&& visit) {
    std::tuple<std::vector<prof::TimeNs>, std::vector<prof::ValueOf<Members>>...> all;
    const prof::Status status = store_.backend().reader()->scan<Time, Members...>(
        {from_, INT64_MAX}, [&](std::span<const prof::TimeNs> time, auto... values) {
          for (std::size_t i = 0; i < time.size(); ++i) {
            if (time[i] < from_) continue;
            std::apply(
                [&](auto& times, auto&... columns) {
                  times.push_back(time[i]);
                  (columns.push_back(values[i]), ...);
                },
                all);
          }
        });
    if (!status) return status;
    bound<Time>(std::get<0>(all));
    std::apply([&](auto&, auto&... columns) { (bound<Members>(columns), ...); }, all);
    const std::vector<prof::TimeNs>* lengths = nullptr;
    if constexpr (std::is_same_v<std::tuple_element_t<1, decltype(all)>,
                                 std::vector<prof::TimeNs>>) {
      lengths = &std::get<1>(all);
    }
    const RowOrder order = timeOrder(std::get<0>(all), lengths);
    std::apply([&](auto&... columns) { (reorder(columns, order), ...); }, all);
    std::apply([&](const auto&... columns) { visit(std::span(columns)...); }, all);
    advance(std::get<0>(all).size());
    return {};
  }

  /// The file's reader gives values as they are; a store brings them back to their bounds.
  template <auto Member>
  static void bound(std::vector<prof::ValueOf<Member>>& values) {
    using Value = prof::ValueOf<Member>;
    if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, std::uint64_t>) {
      const auto& spec = prof::tableSpec<prof::RowOf<Member>>();
      const prof::Bounds bounds = prof::boundsOf(spec.columns[prof::columnIndex<Member>()]);
      if (bounds.any()) (void)prof::bringBack(bounds, std::span(values));
    }
  }

  prof::Status readRanges() {
    std::unordered_map<std::uint32_t, std::uint32_t> processOf;
    for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
      const auto thread = store_.row<prof::Thread>(i);
      processOf[thread.id.value] = thread.process.value;
    }
    using R = prof::Range;
    return rows<&R::startNs, &R::durNs, &R::thread, &R::queue, &R::kind, &R::name>(
        [&](auto start, auto length, auto thread, auto queue, auto kind, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            if (queue[i]) {
              sink_.event(TrackKind::Annotations, queue[i].value, start[i], length[i], name[i]);
            } else if (kind[i] == prof::RangeKind::StartEnd) {
              sink_.event(TrackKind::AsyncRanges, processOf[thread[i].value], start[i], length[i],
                          name[i]);
            } else {
              sink_.event(TrackKind::Ranges, thread[i].value, start[i], length[i], name[i]);
            }
          }
        });
  }

  prof::Status readCalls() {
    using A = prof::ApiCall;
    return rows<&A::startNs, &A::durNs, &A::thread, &A::name>(
        [&](auto start, auto length, auto thread, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            sink_.event(TrackKind::Calls, thread[i].value, start[i], length[i], name[i]);
          }
        });
  }

  /// Copies and memsets are few beside kernels: they wait in memory until the kernels pass by.
  prof::Status readWork() {
    using C = prof::Memcpy;
    using M = prof::Memset;
    using K = prof::Kernel;
    std::unordered_map<std::uint32_t, std::vector<Buffered>> waiting;
    prof::Status status = rows<&C::startNs, &C::durNs, &C::queue, &C::name, &C::copyKind>(
        [&](auto start, auto length, auto queue, auto name, auto kind) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            const auto unnamed = prof::StringId(kUnnamedCopy + static_cast<std::uint32_t>(kind[i]));
            waiting[queue[i].value].push_back({start[i], length[i], name[i] ? name[i] : unnamed});
          }
        });
    if (!status) return status;
    status = rows<&M::startNs, &M::durNs, &M::queue, &M::name>(
        [&](auto start, auto length, auto queue, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            waiting[queue[i].value].push_back(
                {start[i], length[i], name[i] ? name[i] : prof::StringId(kUnnamedMemset)});
          }
        });
    if (!status) return status;
    std::unordered_map<std::uint32_t, std::size_t> next;
    for (auto& [queue, events] : waiting) {
      std::stable_sort(events.begin(), events.end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; });
    }
    const auto flush = [&](std::uint32_t queue, prof::TimeNs until) {
      const auto found = waiting.find(queue);
      if (found == waiting.end()) return;
      std::size_t& at = next[queue];
      for (; at < found->second.size() && found->second[at].start < until; ++at) {
        const Buffered& event = found->second[at];
        sink_.event(TrackKind::Work, queue, event.start, event.length, event.name);
      }
    };
    status = rows<&K::startNs, &K::durNs, &K::queue, &K::name>(
        [&](auto start, auto length, auto queue, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            flush(queue[i].value, start[i]);
            sink_.event(TrackKind::Work, queue[i].value, start[i], length[i], name[i]);
          }
        });
    for (const auto& [queue, events] : waiting) flush(queue, INT64_MAX);
    return status;
  }

  prof::Status readCounters() {
    using S = prof::CounterSample;
    return rows<&S::timeNs, &S::track, &S::value>([&](auto time, auto id, auto value) {
      for (std::size_t i = 0; i < time.size(); ++i) sink_.sample(id[i].value, time[i], value[i]);
    });
  }

  prof::Status readMemory() {
    using A = prof::Allocation;
    return rows<&A::timeNs, &A::device, &A::action, &A::role, &A::address, &A::bytes>(
        [&](auto time, auto device, auto action, auto role, auto address, auto bytes) {
          for (std::size_t i = 0; i < time.size(); ++i) {
            sink_.allocation(device[i].value, time[i], action[i],
                             static_cast<std::uint8_t>(role[i]), address[i], bytes[i]);
          }
        });
  }

  const Store& store_;
  Sink& sink_;
  prof::TimeNs from_;
  bool stopped_ = false;
};

/// Lays events of one track, in order of their starts, into lanes: each below whatever is still
/// open. Events deeper than kMostLanes are only counted: a program that never ends its ranges would
/// need a lane for each.
struct LaneStack {
  std::vector<Lane> lanes;
  std::vector<prof::TimeNs> open;
  std::uint64_t events = 0;
  std::uint64_t deeper = 0;  ///< of the events, those that have no lane

  void add(prof::TimeNs start, prof::TimeNs length, prof::StringId name) {
    while (!open.empty() && open.back() <= start) open.pop_back();
    const std::size_t depth = open.size();
    ++events;
    if (depth >= kMostLanes) {
      ++deeper;
      return;
    }
    if (lanes.size() <= depth) lanes.resize(depth + 1);
    lanes[depth].add(start, length, name);
    open.push_back(start + length);
  }
};

/// The memory of one device over time, all of it and by role.
struct MemoryCurves {
  struct Curve {
    CounterLane lane;
    std::int64_t bytes = 0;
    void change(prof::TimeNs time, std::int64_t by) {
      prof::addTo(bytes, by);
      lane.add(time, static_cast<double>(bytes));
    }
  };
  Curve all;
  std::unordered_map<std::uint8_t, Curve> byRole;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint8_t>>
      alive;  ///< bytes and role by address

  /// True when the event is the first of its role.
  [[nodiscard]] bool isNew(prof::MemoryAction action, std::uint8_t role) const {
    return isAllocation(action) && !byRole.contains(role);
  }
  void apply(prof::TimeNs time, prof::MemoryAction action, std::uint8_t role, std::uint64_t address,
             std::uint64_t bytes) {
    using prof::MemoryAction;
    if (isAllocation(action)) {
      alive[address] = {bytes, role};
      change(time, static_cast<std::int64_t>(bytes), role);
    } else if (action == MemoryAction::Free || action == MemoryAction::ExternalFree) {
      const auto found = alive.find(address);
      if (found == alive.end()) return;
      change(time, -static_cast<std::int64_t>(found->second.first), found->second.second);
      alive.erase(found);
    }
  }

 private:
  static bool isAllocation(prof::MemoryAction action) {
    return action == prof::MemoryAction::Allocate || action == prof::MemoryAction::ExternalAllocate;
  }
  void change(prof::TimeNs time, std::int64_t by, std::uint8_t role) {
    all.change(time, by);
    byRole[role].change(time, by);
  }
};

}  // namespace lacuna::analyzer
