// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/queue_length.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyses/parts.h"
#include "analyses/work/launch_index.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

constexpr std::int64_t kPoints = 200;

/// A launch or a start, and what it does to the length.
using LengthStep = std::pair<TimeNs, int>;

QueueLength& rowOf(std::vector<QueueLength>& lengths, prof::QueueId queue, TimeWindow entire) {
  const auto at = std::ranges::lower_bound(lengths, queue, {}, &QueueLength::queue);
  if (at != lengths.end() && at->queue == queue) return *at;
  QueueLength row;
  row.queue = queue;
  row.spanNs = entire.endNs - entire.startNs;
  const std::int64_t points = std::clamp<std::int64_t>(row.spanNs, 1, kPoints);
  for (std::int64_t i = 0; i < points; ++i)
    row.curve.push_back(
        {entire.startNs + row.spanNs / points * i + row.spanNs % points * i / points, 0});
  return *lengths.insert(at, std::move(row));
}

/// Between two changes the length stays.
void addStretch(QueueLength& row, TimeWindow stretch, std::uint64_t length) {
  const std::int64_t ns = stretch.endNs - stretch.startNs;
  if (ns <= 0 || length == 0) return;
  prof::addTo(row.waitedNs, prof::productOf(ns, static_cast<std::int64_t>(length)));
  prof::addTo(row.waitingNs, ns);
  if (length >= kFullQueue) prof::addTo(row.fullNs, ns);
  if (length > row.most) {
    row.most = length;
    row.mostAtNs = stretch.startNs;
  }
  const auto behind = [](TimeNs t, const QueueLengthPoint& point) { return t < point.timeNs; };
  auto point = std::upper_bound(row.curve.begin(), row.curve.end(), stretch.startNs, behind);
  if (point != row.curve.begin()) --point;
  for (; point != row.curve.end() && point->timeNs < stretch.endNs; ++point)
    point->most = std::max(point->most, length);
}

}  // namespace

void addQueueLengths(const Timeline& timeline, const LaunchIndex& launches, TimeWindow window,
                     TimeWindow entire, std::vector<QueueLength>& lengths) {
  std::map<prof::QueueId, std::vector<LengthStep>> queues;
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    if (launch == nullptr) continue;
    ++rowOf(lengths, span.queue, entire).work;
    // Clocks of host and device may disagree a little.
    const TimeNs launched =
        std::clamp(launch->startNs, std::min(entire.startNs, span.startNs), span.startNs);
    queues[span.queue].emplace_back(launched, 1);
    queues[span.queue].emplace_back(span.startNs, -1);
  }
  for (auto& [queue, changes] : queues) {
    std::ranges::sort(changes);
    QueueLength& row = rowOf(lengths, queue, entire);
    std::int64_t length = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      length += changes[i].second;
      if (i + 1 < changes.size())
        addStretch(row, {changes[i].first, changes[i + 1].first},
                   static_cast<std::uint64_t>(std::max<std::int64_t>(0, length)));
    }
  }
}

namespace of_queue_lengths {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  addQueueLengths(chunk.timeline, chunk.index, chunk.window, analysis.window,
                  analysis.of<QueueLengths>());
}

}  // namespace
}  // namespace of_queue_lengths

constinit const AnalysisPart parts::queueLengths{
    .name = "queue lengths",
    .add = of_queue_lengths::add,
};

}  // namespace lacuna::analyzer
