// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/host_before_steps.h"

#include <algorithm>
#include <string_view>

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

/// From the first work of any device; empty where the first step was there before.
TimeWindow beforeSteps(const Analysis& analysis) {
  if (analysis.devices.empty() || analysis.steps.all.empty()) return {0, 0};
  TimeNs work = analysis.devices.front().window.startNs;
  for (const DeviceAccount& device : analysis.devices) work = std::min(work, device.window.startNs);
  return {work, std::max(work, analysis.steps.all.front().startNs)};
}

prof::TrackId trackOf(const Store& store, prof::ThreadId thread, std::string_view name) {
  for (std::uint64_t i = 0; thread && i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (track.thread == thread && store.text(track.name) == name) return track.id;
  }
  return {};
}

/// The mean over the window of a counter in percent, each value of which is of the time since the one before; -1 where
/// it has none.
prof::Result<double> meanShare(const Store& store, prof::TrackId wanted, TimeWindow window) {
  using prof::CounterSample;
  double percentNs = 0;
  TimeNs lastNs = window.startNs;
  const auto status = store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
      window, [&](std::uint64_t, auto time, auto track, auto value) {
        for (std::size_t i = 0; i < time.size(); ++i) {
          if (track[i] != wanted || time[i] <= lastNs || time[i] > window.endNs) continue;
          percentNs += value[i] * static_cast<double>(time[i] - lastNs);
          lastNs = time[i];
        }
      });
  if (!status) return status.error();
  if (lastNs == window.startNs) return -1.0;
  return std::clamp(percentNs / 100 / static_cast<double>(lastNs - window.startNs), 0.0, 1.0);
}

}  // namespace

prof::Status findHostBeforeSteps(Analysis& analysis) {
  const TimeWindow window = beforeSteps(analysis);
  if (analysis.unknown.beforeNs == 0 || window.startNs >= window.endNs) return {};
  const Store& store = *analysis.store;
  for (const auto& [name, into] : {std::pair("thread CPU", &analysis.unknown.ranShare),
                                   std::pair("waiting for a core", &analysis.unknown.waitedShare)}) {
    const prof::TrackId track = trackOf(store, analysis.steps.thread, name);
    if (!track) continue;
    const auto share = meanShare(store, track, window);
    if (!share) return share.error();
    *into = *share;
  }
  return {};
}

}  // namespace lacuna::analyzer
