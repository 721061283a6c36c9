// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyses/interval_set.h"
#include "analyses/recording_bands.h"
#include "lacuna/analyzer/collectives.h"
#include "lacuna/analyzer/tables.h"
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
    if (span.work == Work::Compute) out[deviceOf(timeline, span.queue)].add({span.startNs, span.endNs});
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

}  // namespace

CommunicationStats communicationStats(const Store& store, const Timeline& timeline, prof::TimeWindow window,
                                      const RecordedCosts* costs) {
  CommunicationStats stats;
  const auto busy = computing(timeline);
  const Listed listed(store, window);
  std::map<std::pair<prof::StringId, std::string_view>, CollectiveRow> rows;
  for (const DeviceSpan& span : timeline.device) {
    if (span.work != Work::Communication || span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const std::int64_t dur = span.endNs - span.startNs;
    const auto found = busy.find(deviceOf(timeline, span.queue));
    const std::int64_t hidden = found == busy.end() ? 0 : found->second.coveredNs({span.startNs, span.endNs});
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
    const std::int64_t band = costs->within(deviceOf(timeline, span.queue), span.startNs, span.endNs);
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
  std::sort(collectives.begin(), collectives.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
    return std::tie(b.exposedNs, a.name, a.communicator) < std::tie(a.exposedNs, b.name, b.communicator);
  });
}

std::string_view copyKindName(std::size_t kind) {
  static constexpr std::string_view kNames[kCopyKindCount] = {
      "unknown",         "host to device",  "device to host",   "host to array", "array to host", "array to array",
      "array to device", "device to array", "device to device", "host to host",  "peer to peer"};
  return kNames[std::min(kind, kCopyKindCount - 1)];
}

prof::Result<CopyStats> copyStats(const Store& store, prof::TimeWindow window, const TableScope& scope,
                                  const StepWork& work) {
  using prof::Memcpy;
  using prof::Memset;
  CopyStats stats;
  const auto told = cpuDevices(store);
  const double rangeNs = eventCosts(store).rangeNs;
  const auto bandOf = [&](prof::DeviceId device, TimeNs start, std::int64_t dur) {
    if (!told.contains(device)) return std::int64_t{0};
    return std::min<std::int64_t>(dur, std::llround(rangeNs + scope.taken.between(start, start + dur)));
  };
  const auto inSteps = [&](prof::QueueId queue, TimeNs start) {
    return work.outside.empty() || !work.outside.contains({queue, start});
  };
  auto status = store.scan<&Memcpy::startNs, &Memcpy::durNs, &Memcpy::queue, &Memcpy::device, &Memcpy::bytes,
                           &Memcpy::sourceKind, &Memcpy::targetKind, &Memcpy::copyKind>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto device, auto bytes, auto source, auto target,
                  auto kind) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs || !scope.only.holds(queue[i])) continue;
          const bool counts = inSteps(queue[i], start[i]);
          ++stats.count;
          stats.stepCount += counts ? 1 : 0;
          prof::addTo(stats.bytes, bytes[i]);
          CopyRow& row = stats.byKind[std::min(static_cast<std::size_t>(kind[i]), kCopyKindCount - 1)];
          ++row.count;
          prof::addTo(row.bytes, bytes[i]);
          prof::addTo(row.ns, dur[i]);
          prof::addTo(row.recordingNs, bandOf(device[i], start[i], dur[i]));
          if (source[i] != prof::MemoryKind::Pageable && target[i] != prof::MemoryKind::Pageable) continue;
          ++stats.pageableCount;
          prof::addTo(stats.pageableBytes, bytes[i]);
          prof::addTo(stats.pageableNs, dur[i]);
          prof::addTo(stats.pageableRecordingNs, bandOf(device[i], start[i], dur[i]));
          if (!counts) continue;
          ++stats.stepPageableCount;
          prof::addTo(stats.stepPageableBytes, bytes[i]);
          prof::addTo(stats.stepPageableNs, dur[i]);
        }
      });
  if (!status) return status.error();
  status = store.scan<&Memset::startNs, &Memset::durNs, &Memset::queue, &Memset::device>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto device) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs || !scope.only.holds(queue[i])) continue;
          ++stats.memsetCount;
          stats.stepMemsets += inSteps(queue[i], start[i]) ? 1 : 0;
          prof::addTo(stats.memsetNs, dur[i]);
          prof::addTo(stats.memsetRecordingNs, bandOf(device[i], start[i], dur[i]));
        }
      });
  if (!status) return status.error();
  return stats;
}

}  // namespace lacuna::analyzer
