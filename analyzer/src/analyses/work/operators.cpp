// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/merge_rows.h"
#include "analyses/parts.h"
#include "analyses/work/demand.h"
#include "analyses/work/host_nesting.h"
#include "analyses/work/launch_index.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

bool isOperatorSpan(const HostSpan& span) {
  return span.activity == Activity::Operator;
}

/// A row and what was recorded in the time that it sums up.
struct CountedRow {
  OperatorRow row;
  RecordedTime within;
  RecordedTime self;
  RecordedTime executions;
  std::size_t open = 0;       ///< spans of it around the one at hand
  std::optional<Demand> own;  ///< of one call
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

/// Adds what was allocated less what was freed to the operators around it: to the innermost as its
/// own, to each kind of operator around once.
void addMemory(const Store& store, TimeWindow window, const ByThread& operators,
               const Parents& parents, OperatorRows& rows) {
  using prof::Allocation;
  using prof::MemoryAction;
  (void)
      store.scan<&Allocation::timeNs, &Allocation::thread, &Allocation::action, &Allocation::bytes>(
          window, [&](std::uint64_t, auto time, auto thread, auto action, auto bytes) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              const bool takes = action[i] == MemoryAction::Allocate;
              if ((!takes && action[i] != MemoryAction::Free) || !startsIn(window, time[i]))
                continue;
              const auto spans = operators.find(thread[i]);
              if (spans == operators.end()) continue;
              const auto& up = parents.at(thread[i]);
              const std::size_t at = spanAt(spans->second, up, time[i]);
              if (at == kNoSpan) continue;
              const HostSpan* inner = spans->second[at];
              const auto delta = takes ? static_cast<std::int64_t>(bytes[i])
                                       : -static_cast<std::int64_t>(bytes[i]);
              prof::addTo(rows.of(*inner).selfMemBytes, delta);
              ++rows.counted(*inner).self.allocations;
              const HostSpan* last = nullptr;
              for (std::size_t p = at; p != kNoSpan; p = up[p]) {
                const HostSpan* around = spans->second[p];
                if (last == nullptr || !rows.same(*last, *around)) {
                  prof::addTo(rows.of(*around).memBytes, delta);
                  ++rows.counted(*around).within.allocations;
                }
                last = around;
              }
            }
          });
}

/// Number of spans that begin in the window within each span, itself included; also added to its
/// row.
std::vector<std::uint64_t> countWithin(const std::vector<const HostSpan*>& spans,
                                       const std::vector<std::size_t>& up, TimeWindow window,
                                       OperatorRows& rows) {
  std::vector<std::uint64_t> within(spans.size());
  for (std::size_t i = spans.size(); i-- > 0;) {
    within[i] += startsIn(window, spans[i]->startNs) ? 1 : 0;
    if (within[i] > 0) rows.counted(*spans[i]).within.operators += within[i];
    if (up[i] != kNoSpan) within[up[i]] += within[i];
  }
  return within;
}

/// The operators of each thread, and the operator around each of them.
struct OperatorTree {
  const ByThread& operators;
  const Parents& parents;

  /// The innermost operator that launched work: the launch itself, or one around it; null where
  /// there is none. Of a graph's node it is the one in which the node was made.
  [[nodiscard]] const HostSpan* launching(const DeviceSpan& work, const HostSpan& launch) const {
    const HostSpan* made = work.madeBy ? around(work.madeBy, work.madeNs) : nullptr;
    if (made != nullptr) return made;
    return isOperatorSpan(launch) ? &launch : around(launch.thread, launch.startNs);
  }
  [[nodiscard]] const HostSpan* around(ThreadId thread, TimeNs at) const {
    const auto spans = operators.find(thread);
    return spans == operators.end() ? nullptr : operatorAt(spans->second, parents.at(thread), at);
  }
};

/// Returns which of the timeline's host spans are operators with device work of their own.
std::vector<bool> addDeviceWork(const Store& store, const Timeline& timeline,
                                const LaunchIndex& launches, TimeWindow window,
                                const StepSpans& steps, const ShareCurve& taken,
                                const OperatorTree& tree, OperatorRows& rows) {
  const auto cpus = cpuDevices(store);
  std::vector<bool> withWork(timeline.host.size());
  for (const DeviceSpan& span : timeline.device) {
    if (!startsIn(window, span.startNs)) continue;
    const HostSpan* launch = launches.find(span);
    if (launch == nullptr) continue;
    const HostSpan* op = tree.launching(span, *launch);
    if (op == nullptr) continue;
    const auto at = static_cast<std::size_t>(op - timeline.host.data());
    rows.of(*op).deviceCalls += withWork[at] ? 0 : 1;
    withWork[at] = true;
    prof::addTo(rows.of(*op).deviceNs, span.endNs - span.startNs);
    if (steps.hold(launch->startNs))
      prof::addTo(rows.of(*op).stepDeviceNs, span.endNs - span.startNs);
    const auto device = timeline.topology.deviceOfQueue.find(span.queue);
    if (device == timeline.topology.deviceOfQueue.end() || !cpus.contains(device->second)) continue;
    RecordedTime& executions = rows.counted(*op).executions;
    ++executions.ranges;
    prof::addTo(executions.takenNs, taken.between(span.startNs, span.endNs));
  }
  return withWork;
}

/// Adds to each row what its calls with device work demand inside. An operator whose own demand is
/// known stands for all that is in it.
void addDemands(const Store& store, const Timeline& timeline, const std::vector<bool>& withWork,
                const std::vector<const HostSpan*>& spans, const std::vector<std::size_t>& up,
                OperatorRows& rows) {
  if (std::ranges::none_of(spans,
                           [&](const HostSpan* span) { return !store.text(span->text).empty(); }))
    return;
  std::vector<Demand> inside(spans.size());
  for (std::size_t i = spans.size(); i-- > 0;) {
    CountedRow& counted = rows.counted(*spans[i]);
    if (!counted.own)
      counted.own = demandOf(store.text(spans[i]->name), store.text(spans[i]->text));
    if (withWork[static_cast<std::size_t>(spans[i] - timeline.host.data())])
      counted.row.inside.add(inside[i]);
    if (up[i] != kNoSpan) inside[up[i]].add(counted.own->known() ? *counted.own : inside[i]);
  }
}

void addOperator(OperatorRow& a, const OperatorRow& b) {
  a.count += b.count;
  a.deviceCalls += b.deviceCalls;
  prof::addTo(a.totalNs, b.totalNs);
  prof::addTo(a.selfNs, b.selfNs);
  prof::addTo(a.deviceNs, b.deviceNs);
  prof::addTo(a.stepSelfNs, b.stepSelfNs);
  prof::addTo(a.stepDeviceNs, b.stepDeviceNs);
  prof::addTo(a.memBytes, b.memBytes);
  prof::addTo(a.selfMemBytes, b.selfMemBytes);
  prof::addTo(a.recordingNs, b.recordingNs);
  prof::addTo(a.selfRecordingNs, b.selfRecordingNs);
  prof::addTo(a.deviceRecordingNs, b.deviceRecordingNs);
  a.inside.add(b.inside);
}

void addOperators(const Analysis& analysis, const TraceChunk& chunk, GroupBy by,
                  const StepSpans& steps, std::vector<OperatorRow>& into) {
  const auto keyOf = [](const OperatorRow& row) { return row.name + '\n' + row.shapes; };
  mergeRows(into,
            operatorTable(*analysis.store, chunk.timeline, chunk.index, chunk.window, by, steps,
                          analysis.scope.taken),
            keyOf, addOperator);
}

}  // namespace

std::vector<OperatorRow> operatorTable(const Store& store, const Timeline& timeline,
                                       const LaunchIndex& launches, TimeWindow window, GroupBy by,
                                       const StepSpans& steps, const ShareCurve& taken) {
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
      ++counted.self.operators;
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
  const auto withWork =
      addDeviceWork(store, timeline, launches, window, steps, taken, {operators, parents}, rows);
  if (by == GroupBy::NameAndShapes) {
    for (const auto& [thread, spans] : operators) {
      addDemands(store, timeline, withWork, spans, parents[thread], rows);
    }
  }
  addMemory(store, window, operators, parents, rows);
  return rows.take(store);
}

void sortOperators(std::vector<OperatorRow>& operators) {
  std::sort(operators.begin(), operators.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::tie(b.deviceNs, b.selfNs, a.name, a.shapes) <
           std::tie(a.deviceNs, a.selfNs, b.name, b.shapes);
  });
}

namespace of_operators {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  OperatorTables& tables = analysis.of<OperatorTables>();
  addOperators(analysis, chunk, GroupBy::Name, analysis.scope.steps, tables.byName);
  addOperators(analysis, chunk, GroupBy::NameAndShapes, {}, tables.byShapes);
}

void finish(Analysis& analysis) {
  sortOperators(analysis.of<OperatorTables>().byName);
  sortOperators(analysis.of<OperatorTables>().byShapes);
}

}  // namespace
}  // namespace of_operators

constinit const AnalysisPart parts::operators{
    .name = "operators",
    .add = of_operators::add,
    .finish = of_operators::finish,
};

}  // namespace lacuna::analyzer
