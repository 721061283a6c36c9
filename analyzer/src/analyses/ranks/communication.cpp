// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/merge_rows.h"
#include "analyses/parts.h"
#include "analyses/ranks/communication.h"
#include "analyses/time/interval_set.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

prof::DeviceId deviceOf(const Timeline& timeline, prof::QueueId queue) {
  const auto found = timeline.topology.deviceOfQueue.find(queue);
  return found == timeline.topology.deviceOfQueue.end() ? prof::DeviceId() : found->second;
}

/// Per device, when it computes.
std::unordered_map<prof::DeviceId, IntervalSet> computing(const Timeline& timeline) {
  std::unordered_map<prof::DeviceId, IntervalSet> out;
  for (const DeviceSpan& span : timeline.device) {
    if (span.work == Work::Compute)
      out[deviceOf(timeline, span.queue)].add({span.startNs, span.endNs});
  }
  for (auto& [device, intervals] : out) intervals.join();
  return out;
}

/// The window's collectives by where and when they begin.
struct Listed {
  std::map<std::pair<prof::QueueId, TimeNs>, const Collective*> at;
  CollectiveList list;

  Listed(const Store& store, prof::TimeWindow window) {
    if (auto found = listCollectives(store, window)) list = *std::move(found);
    for (const Collective& one : list.calls) at.emplace(std::pair(one.queue, one.startNs), &one);
  }
  [[nodiscard]] const Collective* find(const DeviceSpan& span) const {
    const auto found = at.find({span.queue, span.startNs});
    return found == at.end() ? nullptr : found->second;
  }
};

void addVolume(const Collective& one, CollectiveRow& row) {
  const std::int64_t dur = one.endNs - one.startNs;
  row.calls += one.calls;
  prof::addTo(row.bytes, one.volume.bytes);
  prof::addTo(row.algorithmBytes, one.volume.algorithmBytes);
  prof::addTo(row.busBytes, one.volume.busBytes);
  if (one.volume.bytes > 0) prof::addTo(row.bytesNs, dur);
  if (one.volume.algorithmBytes > 0) prof::addTo(row.algorithmNs, dur);
  if (one.volume.busBytes > 0) prof::addTo(row.busNs, dur);
}

void addCollective(CollectiveRow& a, const CollectiveRow& b) {
  a.count += b.count;
  prof::addTo(a.totalNs, b.totalNs);
  prof::addTo(a.exposedNs, b.exposedNs);
  prof::addTo(a.recordingNs, b.recordingNs);
  a.calls += b.calls;
  prof::addTo(a.bytes, b.bytes);
  prof::addTo(a.bytesNs, b.bytesNs);
  prof::addTo(a.algorithmBytes, b.algorithmBytes);
  prof::addTo(a.algorithmNs, b.algorithmNs);
  prof::addTo(a.busBytes, b.busBytes);
  prof::addTo(a.busNs, b.busNs);
  if (a.ranks == 0) a.ranks = b.ranks;
}

}  // namespace

CommunicationStats communicationStats(const Store& store, const Timeline& timeline,
                                      prof::TimeWindow window, const RecordedCosts* costs) {
  CommunicationStats stats;
  const auto busy = computing(timeline);
  const Listed listed(store, window);
  std::map<std::pair<prof::StringId, std::string_view>, CollectiveRow> rows;
  for (const DeviceSpan& span : timeline.device) {
    if (span.work != Work::Communication || span.startNs < window.startNs ||
        span.startNs >= window.endNs)
      continue;
    const std::int64_t dur = span.endNs - span.startNs;
    const auto found = busy.find(deviceOf(timeline, span.queue));
    const std::int64_t hidden =
        found == busy.end() ? 0 : found->second.coveredNs({span.startNs, span.endNs});
    const Collective* one = listed.find(span);
    const Communicator* among = one == nullptr ? nullptr : &listed.list.communicatorOf(*one);
    CollectiveRow& row = rows[{span.name, among == nullptr ? std::string_view() : among->name}];
    if (one != nullptr) addVolume(*one, row);
    if (one != nullptr) row.kind = nameOf(one->kind);
    if (among != nullptr && among->ranks > 0) row.ranks = among->ranks;
    ++row.count;
    prof::addTo(row.totalNs, dur);
    prof::addTo(row.exposedNs, dur - hidden);
    prof::addTo(stats.totalNs, dur);
    prof::addTo(stats.exposedNs, dur - hidden);
    if (costs == nullptr) continue;
    const std::int64_t band =
        costs->within(deviceOf(timeline, span.queue), span.startNs, span.endNs);
    prof::addTo(row.recordingNs, band);
    prof::addTo(stats.recordingNs, band);
  }
  for (auto& [id, row] : rows) {
    row.name = store.text(id.first);
    row.communicator = id.second;
    stats.collectives.push_back(std::move(row));
  }
  sortCollectives(stats.collectives);
  return stats;
}

void sortCollectives(std::vector<CollectiveRow>& collectives) {
  std::sort(collectives.begin(), collectives.end(),
            [](const CollectiveRow& a, const CollectiveRow& b) {
              return std::tie(b.exposedNs, a.name, a.communicator) <
                     std::tie(a.exposedNs, b.name, b.communicator);
            });
}

namespace of_communication {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  CommunicationStats more =
      communicationStats(*analysis.store, chunk.timeline, chunk.window, &chunk.costs);
  CommunicationStats& sum = analysis.of<CommunicationStats>();
  prof::addTo(sum.totalNs, more.totalNs);
  prof::addTo(sum.exposedNs, more.exposedNs);
  prof::addTo(sum.recordingNs, more.recordingNs);
  const auto keyOf = [](const CollectiveRow& row) { return row.name + '\n' + row.communicator; };
  mergeRows(sum.collectives, std::move(more.collectives), keyOf, addCollective);
}

void finish(Analysis& analysis) {
  sortCollectives(analysis.of<CommunicationStats>().collectives);
}

}  // namespace
}  // namespace of_communication

constinit const AnalysisPart parts::communication{
    .name = "communication",
    .add = of_communication::add,
    .finish = of_communication::finish,
};

}  // namespace lacuna::analyzer
