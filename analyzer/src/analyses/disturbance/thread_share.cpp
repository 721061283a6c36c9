// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/disturbance/thread_share.h"

#include <algorithm>

#include "analyses/parts.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// Counters are read ten times a second, so a shorter stretch has hardly any values.
constexpr TimeNs kLeastNs = 300'000'000;

prof::TrackId trackOf(const Store& store, prof::ThreadId thread, std::string_view name) {
  for (std::uint64_t i = 0; thread && i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (track.thread == thread && store.text(track.name) == name) return track.id;
  }
  return {};
}

}  // namespace

prof::Result<double> threadShare(const Store& store, prof::ThreadId thread, std::string_view counter,
                                 prof::TimeWindow window) {
  using prof::CounterSample;
  const prof::TrackId wanted = trackOf(store, thread, counter);
  if (!wanted) return -1.0;
  double percentNs = 0;
  TimeNs lastNs = window.startNs;
  const auto status = store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
      {window.startNs, window.endNs + 1}, [&](std::uint64_t, auto time, auto track, auto value) {
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

namespace of_step_thread {
namespace {

prof::Status compute(Analysis& analysis) {
  const auto steady = analysis.steps.steadyWithin(analysis.window);
  if (steady.empty()) return {};
  const prof::TimeWindow window{steady.front().startNs, steady.back().endNs};
  if (window.endNs - window.startNs < kLeastNs) return {};
  StepThread& found = analysis.of<StepThread>();
  for (const auto& [counter, into] : {std::pair(kThreadCpu, &found.ranShare), {kWaitingForCore, &found.waitedShare}}) {
    const auto share = threadShare(*analysis.store, analysis.steps.thread, counter, window);
    if (!share) return share.error();
    *into = *share;
  }
  return {};
}

}  // namespace
}  // namespace of_step_thread

constinit const AnalysisPart parts::stepThread{
    .name = "step thread",
    .compute = of_step_thread::compute,
};

}  // namespace lacuna::analyzer
