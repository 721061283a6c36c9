// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/disturbance/recording_bands.h"
#include "lacuna/prof/bounds.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

template <class Key, class Map>
auto valueOf(const Map& map, Key key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

std::unordered_map<prof::TrackId, prof::ProcessId> processesOfTracks(const Store& store,
                                                                     const Topology& topology) {
  std::unordered_map<prof::TrackId, prof::ProcessId> out;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    out[track.id] = track.process ? track.process : valueOf(topology.processOfThread, track.thread);
  }
  return out;
}

/// The CPU devices of whose work most begins with a launch that takes no time, for the thread goes
/// on to execute it.
std::unordered_set<prof::DeviceId> inPlaceDevices(const Timeline& timeline,
                                                  const std::unordered_set<prof::DeviceId>& cpus) {
  std::unordered_set<prof::DeviceId> out;
  if (cpus.empty()) return out;
  std::vector<TimeNs> launches;
  for (const HostSpan& span : timeline.host) {
    if (span.launches && span.startNs == span.endNs) launches.push_back(span.startNs);
  }
  std::sort(launches.begin(), launches.end());
  std::unordered_map<prof::DeviceId, std::int64_t> balance;
  for (const DeviceSpan& span : timeline.device) {
    const bool inPlace = std::binary_search(launches.begin(), launches.end(), span.startNs);
    balance[valueOf(timeline.topology.deviceOfQueue, span.queue)] += inPlace ? 1 : -1;
  }
  for (const auto& [device, more] : balance) {
    if (more > 0 && cpus.contains(device)) out.insert(device);
  }
  return out;
}

}  // namespace

void RecordedCosts::Series::finish() {
  std::sort(sums.begin(), sums.end());
  double sum = 0;
  for (auto& [time, cost] : sums) cost = sum += cost;
}

double RecordedCosts::Series::between(TimeNs from, TimeNs to) const {
  const auto sumBefore = [&](TimeNs at) {
    const auto it = std::partition_point(sums.begin(), sums.end(),
                                         [&](const auto& sum) { return sum.first < at; });
    return it == sums.begin() ? 0.0 : std::prev(it)->second;
  };
  return sumBefore(to) - sumBefore(from);
}

prof::Result<RecordedCosts> RecordedCosts::load(const Store& store, const EventCosts& costs,
                                                const Timeline& timeline, TimeWindow window,
                                                const ShareCurve& taken) {
  using prof::Allocation;
  using prof::CounterSample;
  using prof::Mark;
  using prof::Range;
  RecordedCosts out(taken);
  out.cpus_ = cpuDevices(store);
  if (!costs.known()) return out;
  const Topology& topology = timeline.topology;
  out.processOf_ = topology.processOfThread;
  const auto add = [&](Series& series, TimeNs at, double cost) {
    if (at >= window.startNs && at < window.endNs) series.sums.emplace_back(at, cost);
  };
  const auto addMark = [&](prof::ThreadId thread, TimeNs at, double cost) {
    add(out.host_[valueOf(topology.processOfThread, thread)], at, cost);
  };
  CostKinds kinds(store);
  const auto tracks = processesOfTracks(store, topology);
  for (const prof::Status& status :
       {store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::category>(
            window,
            [&](std::uint64_t, auto start, auto dur, auto thread, auto category) {
              for (std::size_t i = 0; i < start.size(); ++i) {
                if (!thread[i]) continue;
                Series& series = out.host_[valueOf(topology.processOfThread, thread[i])];
                const double cost = kinds.costNs(costs, category[i]);
                add(series, start[i], cost / 2);
                add(series, start[i] + dur[i], cost / 2);
              }
            }),
        store.scan<&Mark::timeNs, &Mark::thread>(window,
                                                 [&](std::uint64_t, auto time, auto thread) {
                                                   for (std::size_t i = 0; i < time.size(); ++i)
                                                     addMark(thread[i], time[i], costs.markNs);
                                                 }),
        store.scan<&Allocation::timeNs, &Allocation::thread>(
            window,
            [&](std::uint64_t, auto time, auto thread) {
              for (std::size_t i = 0; i < time.size(); ++i)
                addMark(thread[i], time[i], costs.allocationNs());
            }),
        store.scan<&CounterSample::timeNs, &CounterSample::track>(
            window, [&](std::uint64_t, auto time, auto track) {
              for (std::size_t i = 0; i < time.size(); ++i)
                add(out.host_[valueOf(tracks, track[i])], time[i], costs.markNs);
            })}) {
    if (!status) return status.error();
  }
  out.inPlace_ = inPlaceDevices(timeline, out.cpus_);
  for (const DeviceSpan& span : timeline.device) {
    const prof::DeviceId device = valueOf(topology.deviceOfQueue, span.queue);
    if (out.isCpu(device)) add(out.executions_[device], span.startNs, costs.rangeNs);
  }
  for (auto& [process, series] : out.host_) series.finish();
  for (auto& [device, series] : out.executions_) series.finish();
  return out;
}

double RecordedCosts::ofHost(prof::ProcessId process, TimeNs from, TimeNs to) const {
  const auto found = host_.find(process);
  return found == host_.end() ? 0 : found->second.between(from, to);
}

std::int64_t RecordedCosts::within(const HostSpan& span) const {
  const double cost = ofHost(valueOf(processOf_, span.thread), span.startNs, span.endNs + 1) +
                      ofCores(span.startNs, span.endNs);
  return std::min<std::int64_t>(span.endNs - span.startNs, std::llround(cost));
}

double RecordedCosts::ofExecutions(prof::DeviceId device, TimeNs from, TimeNs to) const {
  const auto found = executions_.find(device);
  return found == executions_.end() ? 0 : found->second.between(from, to);
}

std::int64_t RecordedCosts::within(prof::DeviceId device, TimeNs from, TimeNs to) const {
  if (!isCpu(device)) return 0;
  return std::min<std::int64_t>(
      to - from, std::llround(ofExecutions(device, from, from + 1) + ofCores(from, to)));
}

std::int64_t RecordedTime::of(std::int64_t ns, const EventCosts& costs) const {
  return std::min<std::int64_t>(ns, costNs(costs) + std::llround(std::max(0.0, takenNs)));
}

std::int64_t BandAttribution::of(const RecordedCosts& costs, const LedgerSegment& segment) {
  const auto length = static_cast<double>(segment.durNs());
  const double taken = costs.ofCores(segment.startNs, segment.endNs);
  const double host = costs.ofHost(process_, segment.startNs, segment.endNs);
  const bool takenAtOnce = isBusy(segment.cause) && costs.isCpu(device_);
  const bool withinWork = isBusy(segment.cause) && costs.worksInPlace(device_);
  prof::addTo(carried_, (withinWork ? 0 : host) + (takenAtOnce ? 0 : taken));
  double band = 0;
  if (isBusy(segment.cause)) {
    const double own = costs.ofExecutions(device_, segment.startNs, segment.endNs);
    band = std::min(length, own + (withinWork ? host : 0) + (takenAtOnce ? taken : 0));
  } else {
    band = std::min(length, carried_);
    carried_ -= band;
    // The rest of the stretch is recording already by its cause.
    if (segment.cause == Cause::Profiler) band = length;
  }
  return std::llround(band);
}

}  // namespace lacuna::analyzer
