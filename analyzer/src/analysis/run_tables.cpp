// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/run_tables.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyses/disturbance/recording_bands.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeWindow;

/// A rank's own cost of recording is in its devices' ledgers. While it waits for another rank, that one's cost counts.
void bandRanks(Analysis& analysis) {
  std::unordered_map<std::int32_t, Ledger> costs;
  for (const DeviceAccount& device : analysis.devices) costs[device.rank] += device.bands;
  for (RankRow& row : analysis.ranks.rows) {
    std::int64_t others = 0;
    for (const auto& [rank, cost] : costs) {
      if (rank != row.rank) others = std::max(others, cost.totalNs());
    }
    const Ledger& own = costs[row.rank];
    row.waitRecordingNs = std::min(row.waitNs, others);
    row.transferRecordingNs = std::min(row.transferNs, own[Cause::ExposedCommunication]);
    row.heldUpRecordingNs = std::min(row.heldUpNs, own.totalNs());
    row.computeRecordingNs = std::min(row.computeNs, own[Cause::Compute]);
  }
}

Selection onlyMemoryOf(prof::DeviceId device) {
  Selection one;
  one.everything = false;
  one.devices.insert(device);
  return one;
}

/// The kMostMemories with the highest peaks first, then the others; each part in the order of devices.
void orderByUse(std::vector<DeviceMemory>& devices) {
  if (devices.size() <= kMostMemories) return;
  const auto rest = devices.begin() + static_cast<std::ptrdiff_t>(kMostMemories);
  std::ranges::nth_element(devices, rest, [](const DeviceMemory& a, const DeviceMemory& b) {
    return std::tie(b.peakBytes, a.device) < std::tie(a.peakBytes, b.device);
  });
  std::ranges::sort(devices.begin(), rest, {}, &DeviceMemory::device);
  std::ranges::sort(rest, devices.end(), {}, &DeviceMemory::device);
}

prof::Status fillMemory(Analysis& analysis) {
  const Store& store = *analysis.store;
  const Selection& only = analysis.scope.only;
  auto memory = memoryStats(store, analysis.window, analysis.steps, only);
  if (!memory) return memory.error();
  analysis.memory = std::move(*memory);
  auto devices = deviceMemory(store, analysis.window);
  if (!devices) return devices.error();
  std::erase_if(*devices, [&](const DeviceMemory& memory) { return !only.holds(memory.device); });
  orderByUse(*devices);
  analysis.memoryByDevice = std::move(*devices);
  if (analysis.memoryByDevice.size() == 1) return {};
  const std::size_t shown = std::min(kMostMemories, analysis.memoryByDevice.size());
  for (const DeviceMemory& device : std::span(analysis.memoryByDevice).first(shown)) {
    auto stats = memoryStats(store, analysis.window, analysis.steps, onlyMemoryOf(device.device));
    if (!stats) return stats.error();
    analysis.memoryStatsByDevice.push_back(std::move(*stats));
  }
  return {};
}

/// Of each device's own peak.
prof::Status findPeakEdits(Analysis& analysis) {
  const auto find = [&](const MemoryStats& memory, prof::DeviceId device, const Selection& only) -> prof::Status {
    auto edits = peakEdits(memory, analysis.steps, analysis.operators);
    for (PeakEdit& edit : edits) edit.device = device;
    const auto status = foreseePeaks(*analysis.store, analysis.window, analysis.steps, edits, only);
    analysis.peakEdits.insert(analysis.peakEdits.end(), edits.begin(), edits.end());
    return status;
  };
  if (analysis.memoryStatsByDevice.empty()) return find(analysis.memory, {}, analysis.scope.only);
  for (std::size_t i = 0; i < analysis.memoryStatsByDevice.size(); ++i) {
    const prof::DeviceId device = analysis.memoryByDevice[i].device;
    if (auto status = find(analysis.memoryStatsByDevice[i], device, onlyMemoryOf(device)); !status) return status;
  }
  return {};
}

/// From the first steady step to the end of the last; all of the run where there are none. What a thread waits for
/// while it imports and sets up says nothing of a step.
TimeWindow steadyStretch(const Analysis& analysis) {
  const std::vector<Step> steady = analysis.steps.steadyWithin(analysis.window);
  return steady.empty() ? analysis.window : TimeWindow{steady.front().startNs, steady.back().endNs};
}

/// From the first work of any device or step to the last; all of the run where there are none. While a program imports
/// and sets up no step becomes longer.
TimeWindow workStretch(const Analysis& analysis) {
  std::vector<TimeWindow> work;
  for (const DeviceAccount& device : analysis.devices) work.push_back(device.window);
  for (const Step& step : analysis.steps.all) {
    if (step.within(analysis.window)) work.push_back({step.startNs, step.endNs});
  }
  if (work.empty()) return analysis.window;
  TimeWindow hull = work.front();
  for (const TimeWindow& one : work) {
    hull.startNs = std::min(hull.startNs, one.startNs);
    hull.endNs = std::max(hull.endNs, one.endNs);
  }
  return hull;
}

/// Judges by the ledger and the loader's figures what holds a step up.
void judgeStep(Analysis& analysis) {
  const Ledger step = analysis.meanStepLedger();
  const Analysis::BetweenSteps between = analysis.betweenSteps();
  analysis.loaderVerdict = loaderVerdict(analysis.loader, analysis.meanStepNs() + between.ns,
                                         step[Cause::LoaderWait] + between.loaderWaitNs, step[Cause::ExposedCopy]);
  if (!analysis.devices.empty()) analysis.bottleneck = bottleneckOf(step, between.loaderWaitNs);
}

}  // namespace

prof::Status fillRunTables(Analysis& analysis, const StepWork& stepWork, WorkProgress& progress, double from,
                           double until) {
  const Store& store = *analysis.store;
  const TableScope& scope = analysis.scope;
  const TimeWindow window = analysis.window;
  const auto take = [](auto& into, auto result) -> prof::Status {
    if (!result) return result.error();
    into = std::move(*result);
    return {};
  };
  const std::function<prof::Status()> tables[] = {
      [&] { return take(analysis.kernels, kernelTable(store, window, scope, stepWork)); },
      [&] { return take(analysis.loader, loaderStats(store, window, scope)); },
      [&] { return take(analysis.copies, copyStats(store, window, scope, stepWork)); },
      [&] { return take(analysis.operatorPatterns, operatorPatterns(store, window, scope)); },
      [&] { return fillMemory(analysis); },
      [&] {
        return take(analysis.contention,
                    coreContention(store, steadyStretch(analysis), scope.only, analysis.hostCores));
      },
      [&] { return take(analysis.ranks, rankStats(store, window, analysis.devices, scope.steps)); },
      [&] {
        return take(analysis.overhead,
                    selfOverheadOf(store, window, analysis.stepCount(), scope, workStretch(analysis)));
      },
      [&] {
        return take(analysis.efficiency, efficiencyStats(store, window, analysis.devices, analysis.operatorShapes,
                                                         analysis.kernels, scope.only));
      }};
  for (std::size_t n = 0; n < std::size(tables); ++n) {
    const double share = static_cast<double>(n + 1) / static_cast<double>(std::size(tables));
    if (!progress.next(from + (until - from) * share)) return cancelled();
    if (auto status = tables[n](); !status) return status;
  }
  bandRanks(analysis);
  if (auto status = findPeakEdits(analysis); !status) return status;
  judgeStep(analysis);
  return {};
}

}  // namespace lacuna::analyzer
