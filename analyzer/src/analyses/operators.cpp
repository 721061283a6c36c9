// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyses/host_nesting.h"
#include "analyses/launch_index.h"
#include "analyses/recording_bands.h"
#include "lacuna/analyzer/self_overhead.h"
#include "lacuna/analyzer/tables.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

bool startsIn(TimeWindow window, TimeNs startNs) {
  return startNs >= window.startNs && startNs < window.endNs;
}

bool isOperatorSpan(const HostSpan& span) {
  return span.activity == Activity::Operator;
}

/// A row and what was recorded in the time that it sums up.
struct CountedRow {
  OperatorRow row;
  RecordedTime within;
  RecordedTime self;
  RecordedTime executions;
  std::size_t open = 0;  ///< spans of it around the one at hand
};

/// Rows of the table by name, or by name and shapes.
class OperatorRows {
 public:
  explicit OperatorRows(GroupBy by) : by_(by) {}
  CountedRow& counted(const HostSpan& span) {
    return rows_[{span.name, by_ == GroupBy::Name ? StringId() : span.text}];
  }
  OperatorRow& of(const HostSpan& span) { return counted(span).row; }
  [[nodiscard]] bool same(const HostSpan& a, const HostSpan& b) const {
    return a.name == b.name && (by_ == GroupBy::Name || a.text == b.text);
  }
  std::vector<OperatorRow> take(const Store& store) {
    std::vector<OperatorRow> out;
    const EventCosts costs = eventCosts(store);
    for (auto& [key, sums] : rows_) {
      OperatorRow& row = sums.row;
      row.recordingNs = sums.within.of(row.totalNs, costs);
      row.selfRecordingNs = sums.self.of(row.selfNs, costs);
      row.deviceRecordingNs = sums.executions.of(row.deviceNs, costs);
      row.name = store.text(key.first);
      row.shapes = store.text(key.second);
      out.push_back(std::move(row));
    }
    sortOperators(out);
    return out;
  }

 private:
  GroupBy by_;
  std::map<std::pair<StringId, StringId>, CountedRow> rows_;
};

/// Adds what was allocated less what was freed to the operators around it: to the innermost as its own, to each kind
/// of operator around once.
void addMemory(const Store& store, TimeWindow window, const ByThread& operators, const Parents& parents,
               OperatorRows& rows) {
  using prof::Allocation;
  using prof::MemoryAction;
  (void)store.scan<&Allocation::timeNs, &Allocation::thread, &Allocation::action, &Allocation::bytes>(
      window, [&](std::uint64_t, auto time, auto thread, auto action, auto bytes) {
        for (std::size_t i = 0; i < time.size(); ++i) {
          const bool takes = action[i] == MemoryAction::Allocate;
          if ((!takes && action[i] != MemoryAction::Free) || !startsIn(window, time[i])) continue;
          const auto spans = operators.find(thread[i]);
          if (spans == operators.end()) continue;
          const auto& up = parents.at(thread[i]);
          const HostSpan* inner = operatorAt(spans->second, up, time[i]);
          if (inner == nullptr) continue;
          const auto delta = takes ? static_cast<std::int64_t>(bytes[i]) : -static_cast<std::int64_t>(bytes[i]);
          prof::addTo(rows.of(*inner).selfMemBytes, delta);
          ++rows.counted(*inner).self.marks;
          const auto at = std::lower_bound(spans->second.begin(), spans->second.end(), inner,
                                           [](const HostSpan* a, const HostSpan* b) {
                                             return std::tuple(a->startNs, b->endNs) < std::tuple(b->startNs, a->endNs);
                                           });
          const HostSpan* last = nullptr;
          for (auto p = static_cast<std::size_t>(at - spans->second.begin()); p != kNoSpan; p = up[p]) {
            const HostSpan* around = spans->second[p];
            if (last == nullptr || !rows.same(*last, *around)) {
              prof::addTo(rows.of(*around).memBytes, delta);
              ++rows.counted(*around).within.marks;
            }
            last = around;
          }
        }
      });
}

/// How many spans begin in the window within each span, itself included; also added to its row.
std::vector<std::uint64_t> countWithin(const std::vector<const HostSpan*>& spans, const std::vector<std::size_t>& up,
                                       TimeWindow window, OperatorRows& rows) {
  std::vector<std::uint64_t> within(spans.size());
  for (std::size_t i = spans.size(); i-- > 0;) {
    within[i] += startsIn(window, spans[i]->startNs) ? 1 : 0;
    if (within[i] > 0) rows.counted(*spans[i]).within.ranges += within[i];
    if (up[i] != kNoSpan) within[up[i]] += within[i];
  }
  return within;
}

}  // namespace

std::vector<OperatorRow> operatorTable(const Store& store, const Timeline& timeline, const LaunchIndex& launches,
                                       TimeWindow window, GroupBy by, const StepSpans& steps, const ShareCurve& taken) {
  const ByThread operators = sortedByThread(timeline, isOperatorSpan);
  Parents parents;
  OperatorRows rows(by);
  for (const auto& [thread, spans] : operators) {
    auto& up = parents[thread] = parentsOf(spans);
    const std::vector<std::uint64_t> within = countWithin(spans, up, window, rows);
    std::vector<std::pair<std::size_t, CountedRow*>> around;
    const auto leave = [&] {
      --around.back().second->open;
      around.pop_back();
    };
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (within[i] == 0) continue;
      while (!around.empty() && around.back().first != up[i]) leave();
      // A recursive operator's time counts once.
      CountedRow& counted = rows.counted(*spans[i]);
      const bool nestedInItself = counted.open++ > 0;
      around.emplace_back(i, &counted);
      if (!startsIn(window, spans[i]->startNs)) continue;
      const TimeNs dur = spans[i]->endNs - spans[i]->startNs;
      OperatorRow& row = counted.row;
      ++row.count;
      prof::addTo(row.selfNs, dur);
      const bool inSteps = steps.hold(spans[i]->startNs);
      if (inSteps) prof::addTo(row.stepSelfNs, dur);
      const double takenNs = taken.between(spans[i]->startNs, spans[i]->endNs);
      ++counted.self.ranges;
      prof::addTo(counted.self.takenNs, takenNs);
      if (!nestedInItself) {
        prof::addTo(row.totalNs, dur);
        prof::addTo(counted.within.takenNs, takenNs);
      }
      if (up[i] == kNoSpan) continue;
      CountedRow& countedOuter = rows.counted(*spans[up[i]]);
      OperatorRow& outer = countedOuter.row;
      prof::takeFrom(outer.selfNs, dur);
      prof::takeFrom(countedOuter.self.takenNs, takenNs);
      if (inSteps && steps.hold(spans[up[i]]->startNs)) prof::takeFrom(outer.stepSelfNs, dur);
    }
    while (!around.empty()) leave();
  }
  const auto cpus = cpuDevices(store);
  for (const DeviceSpan& span : timeline.device) {
    if (!startsIn(window, span.startNs)) continue;
    const HostSpan* launch = launches.find(span);
    if (launch == nullptr) continue;
    const HostSpan* op = launch;
    if (!isOperatorSpan(*launch)) {
      const auto spans = operators.find(launch->thread);
      op = spans == operators.end() ? nullptr : operatorAt(spans->second, parents[launch->thread], launch->startNs);
    }
    if (op == nullptr) continue;
    prof::addTo(rows.of(*op).deviceNs, span.endNs - span.startNs);
    if (steps.hold(launch->startNs)) prof::addTo(rows.of(*op).stepDeviceNs, span.endNs - span.startNs);
    const auto device = timeline.topology.deviceOfQueue.find(span.queue);
    if (device == timeline.topology.deviceOfQueue.end() || !cpus.contains(device->second)) continue;
    RecordedTime& executions = rows.counted(*op).executions;
    ++executions.ranges;
    prof::addTo(executions.takenNs, taken.between(span.startNs, span.endNs));
  }
  addMemory(store, window, operators, parents, rows);
  return rows.take(store);
}

namespace {

/// Calls of one correlation, and the copies that they wait for.
struct CopyGroup {
  std::span<const LaunchIndex::Entry> calls;
  std::uint64_t copies = 0;
  std::uint64_t large = 0;  ///< of these
};

/// By the first of the calls. Many copies may share a correlation, and many calls.
std::unordered_map<const LaunchIndex::Entry*, CopyGroup> copyGroups(const Timeline& timeline,
                                                                    const LaunchIndex& launches) {
  std::unordered_map<const LaunchIndex::Entry*, CopyGroup> groups;
  for (const DeviceSpan& span : timeline.device) {
    if (span.kind != DeviceSpanKind::Copy) continue;
    const auto calls = launches.all(span);
    if (calls.empty()) continue;
    CopyGroup& group = groups[calls.data()];
    group.calls = calls;
    ++group.copies;
    group.large += span.bytes > kStagedBytes ? 1 : 0;
  }
  return groups;
}

/// Joins calls that wait for their copy with it.
void addCopies(const Timeline& timeline, const LaunchIndex& launches, TimeWindow window, const StepSpans& steps,
               std::unordered_map<StringId, CallRow>& rows) {
  for (const auto& [first, group] : copyGroups(timeline, launches)) {
    // Of calls inside of each other the outer one waits as well.
    for (const auto& entry : group.calls) {
      const HostSpan& call = *entry.span;
      if (call.activity != Activity::Sync || !startsIn(window, call.startNs)) continue;
      CallRow& row = rows[call.name];
      row.copies += group.copies;
      if (group.large == 0 || !steps.hold(call.startNs)) continue;
      row.stepLargeCount += group.large;
      prof::addTo(row.stepLargeNs, prof::productOf(call.endNs - call.startNs, static_cast<std::int64_t>(group.large)));
    }
  }
}

}  // namespace

std::vector<CallRow> callTable(const Store& store, const Timeline& timeline, const LaunchIndex& launches,
                               TimeWindow window, const RecordedCosts* costs, const StepSpans& steps) {
  const auto isCall = [](const HostSpan& span) {
    return span.activity == Activity::Launch || span.activity == Activity::Driver || span.activity == Activity::Sync;
  };
  const ByThread around = sortedByThread(timeline, [](const HostSpan& span) {
    return span.activity == Activity::Operator || span.activity == Activity::Annotation;
  });
  std::unordered_map<ThreadId, std::vector<std::size_t>> parents;
  for (const auto& [thread, spans] : around) parents[thread] = parentsOf(spans);
  std::unordered_map<StringId, CallRow> rows;
  std::map<std::pair<StringId, std::string_view>, std::int64_t> callers;
  for (const HostSpan& span : timeline.host) {
    if (!isCall(span) || !startsIn(window, span.startNs)) continue;
    CallRow& row = rows[span.name];
    row.activity = span.activity;
    ++row.count;
    prof::addTo(row.totalNs, span.endNs - span.startNs);
    if (steps.hold(span.startNs)) {
      ++row.stepCount;
      prof::addTo(row.stepNs, span.endNs - span.startNs);
    }
    if (costs != nullptr) prof::addTo(row.recordingNs, costs->within(span));
    const auto spans = around.find(span.thread);
    if (span.activity != Activity::Sync || spans == around.end()) continue;
    const HostSpan* caller = operatorAt(spans->second, parents[span.thread], span.startNs);
    if (caller == nullptr) continue;
    prof::addTo(callers[{span.name, steps.foldedName(store.text(caller->name))}], span.endNs - span.startNs);
  }
  std::unordered_map<StringId, std::int64_t> most;
  for (const auto& [key, ns] : callers) {
    if (ns < most[key.first]) continue;
    most[key.first] = ns;
    rows[key.first].caller = key.second;
  }
  addCopies(timeline, launches, window, steps, rows);
  std::vector<CallRow> out;
  for (auto& [id, row] : rows) {
    row.name = store.text(id);
    out.push_back(std::move(row));
  }
  sortCalls(out);
  return out;
}

void sortOperators(std::vector<OperatorRow>& operators) {
  std::sort(operators.begin(), operators.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::tie(b.deviceNs, b.selfNs, a.name, a.shapes) < std::tie(a.deviceNs, a.selfNs, b.name, b.shapes);
  });
}

void sortCalls(std::vector<CallRow>& calls) {
  std::sort(calls.begin(), calls.end(), [](const CallRow& a, const CallRow& b) {
    return std::tie(b.totalNs, a.name) < std::tie(a.totalNs, b.name);
  });
}

}  // namespace lacuna::analyzer
