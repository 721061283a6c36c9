// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/device_ledgers.h"

#include <algorithm>
#include <vector>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/time/chunks.h"
#include "analyses/work/graph_replays.h"
#include "analysis/plain_time.h"
#include "analysis/run_parts.h"
#include "analysis/segment_collector.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeWindow;

/// The time that the ledgers must cover: the devices' own windows and the steps.
TimeWindow coverOf(const Analysis& analysis) {
  TimeWindow cover = analysis.window;
  for (const DeviceAccount& device : analysis.devices) {
    cover.startNs = std::min(cover.startNs, device.window.startNs);
    cover.endNs = std::max(cover.endNs, device.window.endNs);
  }
  if (!analysis.steps.all.empty()) {
    cover.startNs = std::min(cover.startNs, analysis.steps.all.front().startNs);
    cover.endNs = std::max(cover.endNs, analysis.steps.all.back().endNs);
  }
  return cover;
}

/// The ledgers of one device and of its queues, from one chunk after the other.
class DeviceLedgers {
 public:
  DeviceLedgers(DeviceAccount& device, const Topology& topology, const PlainTime& plain)
      : account_(device), plain_(plain) {
    const auto owner = topology.processOfQueue.find(device.queues.front().id);
    const prof::ProcessId process =
        owner == topology.processOfQueue.end() ? prof::ProcessId() : owner->second;
    device_ = BandAttribution(device.id, process);
    queues_.assign(device.queues.size(), device_);
  }

  void add(const LedgerAccountant& accountant, TimeWindow window, const RecordedCosts& costs,
           SegmentCollector& collector) {
    accountant.account({account_.id, {}}, window, [&](const LedgerSegment& whole) {
      plain_.outside(whole, [&](const LedgerSegment& segment) {
        collector.add(account_, segment, device_.of(costs, segment));
      });
    });
    const TimeWindow inside{std::max(window.startNs, account_.window.startNs),
                            std::min(window.endNs, account_.window.endNs)};
    if (inside.startNs >= inside.endNs) return;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      QueueAccount& queue = account_.queues[i];
      accountant.account({account_.id, queue.id}, inside, [&](const LedgerSegment& whole) {
        plain_.outside(whole, [&](const LedgerSegment& segment) {
          queue.ledger.add(segment.cause, segment.durNs());
          queue.bands.add(segment.cause, queues_[i].of(costs, segment));
        });
      });
    }
  }

 private:
  DeviceAccount& account_;
  const PlainTime& plain_;
  BandAttribution device_{{}, {}};
  std::vector<BandAttribution> queues_;
};

}  // namespace

prof::Status accountDevices(Analysis& analysis, PartList parts, const Topology& topology,
                            WorkProgress& progress) {
  SegmentCollector collector(analysis);
  const EventCosts eventCost = eventCosts(*analysis.store);
  const Selection& only = analysis.scope.only;
  const StepPauses pauses = stepPauses(*analysis.store, analysis.steps);
  std::vector<DeviceLedgers> ledgers;
  const PlainTime plain(analysis.steps.all);
  for (DeviceAccount& device : analysis.devices) ledgers.emplace_back(device, topology, plain);
  const auto status =
      forEachChunk(*analysis.store, coverOf(analysis),
                   [&](const Timeline& timeline, TimeWindow window) -> prof::Status {
                     const auto costs = RecordedCosts::load(*analysis.store, eventCost, timeline,
                                                            window, analysis.scope.taken);
                     if (!costs) return costs.error();
                     const std::vector<DeviceSpan> unrecorded =
                         analysis.of<GraphReplays>().unrecordedNear(window);
                     const LedgerAccountant accountant(timeline, pauses, unrecorded);
                     for (DeviceLedgers& device : ledgers) {
                       if (!progress.at(0)) return cancelled();
                       device.add(accountant, window, *costs, collector);
                     }
                     if (!progress.at(0)) return cancelled();
                     if (only.everything) {
                       addChunk(analysis, parts, timeline, window, *costs, progress);
                     } else {
                       addChunk(analysis, parts, only.of(timeline), window, *costs, progress);
                     }
                     return {};
                   });
  collector.finish();
  finishChunks(analysis, parts);
  return status;
}

}  // namespace lacuna::analyzer
