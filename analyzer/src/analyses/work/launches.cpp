// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/parts.h"
#include "analyses/work/launch_index.h"
#include "analyses/work/launches.h"
#include "analyses/work/step_work.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

struct Launched {
  prof::QueueId queue;
  prof::TimeNs at;
  prof::TimeNs endNs;
};

void addLaunches(LaunchStats& launches, const LaunchStats& more) {
  const auto sum = static_cast<double>(launches.launches + more.launches);
  if (sum > 0) {
    launches.meanQueueDepth = (launches.meanQueueDepth * static_cast<double>(launches.launches) +
                               more.meanQueueDepth * static_cast<double>(more.launches)) /
                              sum;
  }
  // The chunk with the most launches gives the medians for all chunks.
  if (more.launches > launches.launches) {
    launches.medianCallNs = more.medianCallNs;
    launches.medianDelayNs = more.medianDelayNs;
    launches.callRecordingNs = more.callRecordingNs;
    launches.delayRecordingNs = more.delayRecordingNs;
  }
  launches.launches += more.launches;
  launches.shorterThanCall += more.shorterThanCall;
  launches.foundQueueEmpty += more.foundQueueEmpty;
  launches.inPlace += more.inPlace;
  launches.unmatched += more.unmatched;
}

}  // namespace

LaunchStats launchStats(const Timeline& timeline, const LaunchIndex& launches,
                        prof::TimeWindow window, const RecordedCosts* costs) {
  LaunchStats stats;
  std::vector<std::int64_t> calls;
  std::vector<std::int64_t> delays;
  std::vector<std::int64_t> leanCalls, leanDelays;  // as if recording had cost nothing
  std::unordered_map<prof::QueueId, std::vector<Launched>> queues;
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    if (launch == nullptr) {
      ++stats.unmatched;
      continue;
    }
    ++stats.launches;
    queues[span.queue].push_back({span.queue, launch->startNs, span.endNs});
    // Time that a call waits, as a blocking copy does, is not the time of launching.
    if (launch->activity == Activity::Sync) continue;
    const std::int64_t callNs = launch->endNs - launch->startNs;
    calls.push_back(callNs);
    delays.push_back(std::max<std::int64_t>(0, span.startNs - launch->endNs));
    if (costs != nullptr) {
      leanCalls.push_back(callNs - costs->within(*launch));
      HostSpan delay = *launch;
      delay.startNs = launch->endNs;
      delay.endNs = launch->endNs + delays.back();
      leanDelays.push_back(delays.back() - costs->within(delay));
    }
    if (span.endNs - span.startNs < callNs) ++stats.shorterThanCall;
    if (isInPlace(*launch, span)) ++stats.inPlace;
  }
  std::uint64_t depthSum = 0;
  for (auto& [queue, work] : queues) {
    std::sort(work.begin(), work.end(),
              [](const Launched& a, const Launched& b) { return a.at < b.at; });
    std::vector<prof::TimeNs> ends;
    for (const Launched& item : work) ends.push_back(item.endNs);
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 0; i < work.size(); ++i) {
      const auto done = static_cast<std::size_t>(
          std::upper_bound(ends.begin(), ends.end(), work[i].at) - ends.begin());
      const std::size_t depth = i > done ? i - done : 0;
      depthSum += depth;
      if (depth == 0) ++stats.foundQueueEmpty;
    }
  }
  stats.medianCallNs = medianOf(std::move(calls));
  stats.medianDelayNs = medianOf(std::move(delays));
  if (costs != nullptr) {
    stats.callRecordingNs = stats.medianCallNs - medianOf(std::move(leanCalls));
    stats.delayRecordingNs = stats.medianDelayNs - medianOf(std::move(leanDelays));
  }
  if (stats.launches > 0)
    stats.meanQueueDepth = static_cast<double>(depthSum) / static_cast<double>(stats.launches);
  return stats;
}

namespace of_launches {
namespace {

constexpr std::array kInputs{&parts::stepWork};

void add(Analysis& analysis, const TraceChunk& chunk) {
  addLaunches(analysis.of<LaunchStats>(),
              launchStats(chunk.timeline, chunk.index, chunk.window, &chunk.costs));
}

void finish(Analysis& analysis) {
  analysis.of<LaunchStats>().stepLaunches = analysis.of<StepWork>().launches;
}

}  // namespace
}  // namespace of_launches

constinit const AnalysisPart parts::launches{
    .name = "launches",
    .inputs = of_launches::kInputs,
    .add = of_launches::add,
    .finish = of_launches::finish,
};

}  // namespace lacuna::analyzer
