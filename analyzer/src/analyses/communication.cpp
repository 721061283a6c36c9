// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lacuna/analyzer/tables.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

struct Interval {
  TimeNs startNs;
  TimeNs endNs;
};

prof::DeviceId deviceOf(const Timeline& timeline, prof::QueueId queue) {
  const auto found = timeline.topology.deviceOfQueue.find(queue);
  return found == timeline.topology.deviceOfQueue.end() ? prof::DeviceId() : found->second;
}

/// Per device, when it computes: disjoint, in order.
std::unordered_map<prof::DeviceId, std::vector<Interval>> computing(const Timeline& timeline) {
  std::unordered_map<prof::DeviceId, std::vector<Interval>> out;
  for (const DeviceSpan& span : timeline.device) {
    if (span.work != Work::Compute) continue;
    auto& intervals = out[deviceOf(timeline, span.queue)];
    if (!intervals.empty() && span.startNs <= intervals.back().endNs) {
      intervals.back().endNs = std::max(intervals.back().endNs, span.endNs);
    } else {
      intervals.push_back({span.startNs, span.endNs});
    }
  }
  return out;
}

std::int64_t covered(const std::vector<Interval>& intervals, TimeNs from, TimeNs to) {
  auto it =
      std::partition_point(intervals.begin(), intervals.end(), [&](const Interval& i) { return i.endNs <= from; });
  std::int64_t sum = 0;
  for (; it != intervals.end() && it->startNs < to; ++it) sum += std::min(to, it->endNs) - std::max(from, it->startNs);
  return sum;
}

}  // namespace

CommunicationStats communicationStats(const Store& store, const Timeline& timeline, prof::TimeWindow window) {
  CommunicationStats stats;
  const auto busy = computing(timeline);
  std::unordered_map<prof::StringId, CollectiveRow> rows;
  for (const DeviceSpan& span : timeline.device) {
    if (span.work != Work::Communication || span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const std::int64_t dur = span.endNs - span.startNs;
    const auto found = busy.find(deviceOf(timeline, span.queue));
    const std::int64_t hidden = found == busy.end() ? 0 : covered(found->second, span.startNs, span.endNs);
    CollectiveRow& row = rows[span.name];
    ++row.count;
    row.totalNs += dur;
    row.exposedNs += dur - hidden;
    stats.totalNs += dur;
    stats.exposedNs += dur - hidden;
  }
  for (auto& [id, row] : rows) {
    row.name = store.text(id);
    stats.collectives.push_back(std::move(row));
  }
  std::sort(stats.collectives.begin(), stats.collectives.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
    return a.exposedNs != b.exposedNs ? a.exposedNs > b.exposedNs : a.name < b.name;
  });
  return stats;
}

prof::Result<CopyStats> copyStats(const Store& store, prof::TimeWindow window) {
  using prof::Memcpy;
  using prof::Memset;
  CopyStats stats;
  auto status = store.scan<&Memcpy::startNs, &Memcpy::durNs, &Memcpy::bytes, &Memcpy::sourceKind, &Memcpy::targetKind>(
      window, [&](std::uint64_t, auto start, auto dur, auto bytes, auto source, auto target) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs) continue;
          ++stats.count;
          stats.bytes += bytes[i];
          if (source[i] != prof::MemoryKind::Pageable && target[i] != prof::MemoryKind::Pageable) continue;
          ++stats.pageableCount;
          stats.pageableBytes += bytes[i];
          stats.pageableNs += dur[i];
        }
      });
  if (!status) return status.error();
  status = store.scan<&Memset::startNs, &Memset::durNs>(window, [&](std::uint64_t, auto start, auto dur) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      if (start[i] < window.startNs || start[i] >= window.endNs) continue;
      ++stats.memsetCount;
      stats.memsetNs += dur[i];
    }
  });
  if (!status) return status.error();
  return stats;
}

}  // namespace lacuna::analyzer
