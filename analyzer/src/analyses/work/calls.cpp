// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/calls.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/merge_rows.h"
#include "analyses/parts.h"
#include "analyses/work/host_nesting.h"
#include "analyses/work/launch_index.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::ThreadId;
using prof::TimeWindow;

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
void addCopies(const Timeline& timeline, const LaunchIndex& launches, TimeWindow window,
               const StepSpans& steps, std::unordered_map<StringId, CallRow>& rows) {
  for (const auto& [first, group] : copyGroups(timeline, launches)) {
    // Where calls are inside of each other, the outer one waits as well.
    for (const auto& entry : group.calls) {
      const HostSpan& call = *entry.span;
      if (call.activity != Activity::Sync || !startsIn(window, call.startNs)) continue;
      CallRow& row = rows[call.name];
      row.copies += group.copies;
      if (group.large == 0 || !steps.hold(call.startNs)) continue;
      row.stepLargeCount += group.large;
      prof::addTo(row.stepLargeNs, prof::productOf(call.endNs - call.startNs,
                                                   static_cast<std::int64_t>(group.large)));
    }
  }
}

void addCall(CallRow& a, const CallRow& b) {
  a.count += b.count;
  prof::addTo(a.totalNs, b.totalNs);
  a.stepCount += b.stepCount;
  prof::addTo(a.stepNs, b.stepNs);
  prof::addTo(a.recordingNs, b.recordingNs);
  a.copies += b.copies;
  a.stepLargeCount += b.stepLargeCount;
  prof::addTo(a.stepLargeNs, b.stepLargeNs);
  if (a.caller.empty()) a.caller = b.caller;
}

}  // namespace

std::vector<CallRow> callTable(const Store& store, const Timeline& timeline,
                               const LaunchIndex& launches, TimeWindow window,
                               const RecordedCosts* costs, const StepSpans& steps) {
  const auto isCall = [](const HostSpan& span) {
    return span.activity == Activity::Launch || span.activity == Activity::Driver ||
           span.activity == Activity::Sync;
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
    prof::addTo(callers[{span.name, steps.foldedName(store.text(caller->name))}],
                span.endNs - span.startNs);
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

void sortCalls(std::vector<CallRow>& calls) {
  std::sort(calls.begin(), calls.end(), [](const CallRow& a, const CallRow& b) {
    return std::tie(b.totalNs, a.name) < std::tie(a.totalNs, b.name);
  });
}

namespace of_calls {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  CallTable more = callTable(*analysis.store, chunk.timeline, chunk.index, chunk.window,
                             &chunk.costs, analysis.scope.steps);
  mergeRows(
      analysis.of<CallTable>(), std::move(more), [](const CallRow& row) { return row.name; },
      addCall);
}

void finish(Analysis& analysis) {
  sortCalls(analysis.of<CallTable>());
}

}  // namespace
}  // namespace of_calls

constinit const AnalysisPart parts::calls{
    .name = "calls",
    .add = of_calls::add,
    .finish = of_calls::finish,
};

}  // namespace lacuna::analyzer
