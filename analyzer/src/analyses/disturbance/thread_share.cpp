// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/disturbance/thread_share.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "analyses/loader/loader.h"
#include "analyses/parts.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// Counters are read ten times a second, so a shorter stretch has hardly any values.
constexpr TimeNs kLeastNs = 300'000'000;

/// Less of the time is no load on a core.
constexpr double kBusy = 0.05;

struct Mean {
  double percentNs = 0;
  TimeNs lastNs = 0;
};

/// The mean of each counter over the window. A counter without a value in the window is left out.
prof::Result<std::unordered_map<prof::TrackId, double>> meanShares(
    const Store& store, const std::vector<prof::TrackId>& tracks, prof::TimeWindow window) {
  using prof::CounterSample;
  std::unordered_map<prof::TrackId, Mean> means;
  for (const prof::TrackId track : tracks) means[track].lastNs = window.startNs;
  const auto status =
      store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
          {window.startNs, window.endNs + 1},
          [&](std::uint64_t, auto time, auto track, auto value) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              const auto found = means.find(track[i]);
              if (found == means.end() || time[i] <= found->second.lastNs || time[i] > window.endNs)
                continue;
              found->second.percentNs +=
                  value[i] * static_cast<double>(time[i] - found->second.lastNs);
              found->second.lastNs = time[i];
            }
          });
  if (!status) return status.error();
  std::unordered_map<prof::TrackId, double> out;
  for (const auto& [track, mean] : means) {
    if (mean.lastNs == window.startNs) continue;
    const double ns = static_cast<double>(mean.lastNs - window.startNs);
    const double share = mean.percentNs / prof::kPercent / ns;
    out[track] = share > 0 ? std::min(share, 1.0) : 0;  // what is no number counts as nothing
  }
  return out;
}

/// The counters of one name, by their threads.
std::unordered_map<prof::ThreadId, prof::TrackId> tracksOf(const Store& store,
                                                           std::string_view name) {
  std::unordered_map<prof::ThreadId, prof::TrackId> out;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (track.thread && store.text(track.name) == name) out.try_emplace(track.thread, track.id);
  }
  return out;
}

prof::Result<std::unordered_map<prof::ThreadId, double>> sharesOf(const Store& store,
                                                                  std::string_view counter,
                                                                  prof::TimeWindow window) {
  const auto tracks = tracksOf(store, counter);
  std::vector<prof::TrackId> wanted;
  for (const auto& [thread, track] : tracks) wanted.push_back(track);
  const auto means = meanShares(store, wanted, window);
  if (!means) return means.error();
  std::unordered_map<prof::ThreadId, double> out;
  for (const auto& [thread, track] : tracks) {
    if (const auto mean = means->find(track); mean != means->end()) out[thread] = mean->second;
  }
  return out;
}

}  // namespace

prof::Result<double> threadShare(const Store& store, prof::ThreadId thread,
                                 std::string_view counter, prof::TimeWindow window) {
  const auto tracks = tracksOf(store, counter);
  const auto track = tracks.find(thread);
  if (track == tracks.end()) return -1.0;
  const auto means = meanShares(store, {track->second}, window);
  if (!means) return means.error();
  const auto mean = means->find(track->second);
  return mean == means->end() ? -1.0 : mean->second;
}

prof::Result<double> wantedNs(const Store& store, std::span<const prof::ThreadId> threads,
                              prof::TimeWindow window) {
  using prof::CounterSample;
  std::unordered_map<prof::TrackId, TimeNs> lasts;
  for (const std::string_view counter : {kThreadCpu, kWaitingForCore}) {
    for (const auto& [thread, track] : tracksOf(store, counter)) {
      if (std::ranges::find(threads, thread) != threads.end()) lasts.emplace(track, INT64_MAX);
    }
  }
  if (lasts.empty()) return -1.0;
  double ns = 0;
  // A thread's first value may stand for any time before it.
  const auto status =
      store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
          {}, [&](std::uint64_t, auto time, auto track, auto value) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              const auto last = lasts.find(track[i]);
              if (last == lasts.end()) continue;
              const TimeNs from = std::max(last->second, window.startNs),
                           to = std::min(time[i], window.endNs);
              if (to > from && value[i] > 0)
                prof::addTo(ns, value[i] / prof::kPercent * static_cast<double>(to - from));
              last->second = time[i];
            }
          });
  if (!status) return status.error();
  return ns;
}

namespace of_step_thread {
namespace {

constexpr std::array kInputs{&parts::loader};

prof::Status compute(Analysis& analysis) {
  const auto steady = analysis.steps.steadyWithin(analysis.window);
  if (steady.empty()) return {};
  const prof::TimeWindow window{steady.front().startNs, steady.back().endNs};
  if (window.endNs - window.startNs < kLeastNs) return {};
  const Store& store = *analysis.store;
  const auto ran = sharesOf(store, kThreadCpu, window),
             waited = sharesOf(store, kWaitingForCore, window);
  if (!ran) return ran.error();
  if (!waited) return waited.error();
  const Topology topology = loadTopology(store);
  StepThread& found = analysis.of<StepThread>();
  const auto shareOr = [](const auto& shares, prof::ThreadId thread, double otherwise) {
    const auto share = shares.find(thread);
    return share == shares.end() ? otherwise : share->second;
  };
  found.ranShare = shareOr(*ran, analysis.steps.thread, -1);
  found.waitedShare = shareOr(*waited, analysis.steps.thread, -1);
  std::vector<prof::ThreadId> busy;
  for (const auto& [thread, share] : *ran) {
    const auto process = topology.processOfThread.find(thread);
    const bool isIts =
        process != topology.processOfThread.end() && process->second == analysis.steps.process;
    if (isIts && share + shareOr(*waited, thread, 0) >= kBusy) busy.push_back(thread);
  }
  const std::vector<prof::ThreadId>& workers = analysis.of<LoaderStats>().workerThreads;
  std::erase_if(busy, [&](prof::ThreadId thread) {
    return std::ranges::find(workers, thread) != workers.end();
  });
  for (const prof::ThreadId thread : busy) {
    const double waits = shareOr(*waited, thread, 0);
    ++found.busyThreads;
    found.waitingThreads += waits;
    found.wantedCores += shareOr(*ran, thread, 0) + waits;
  }
  return {};
}

}  // namespace
}  // namespace of_step_thread

constinit const AnalysisPart parts::stepThread{
    .name = "step thread",
    .inputs = of_step_thread::kInputs,
    .compute = of_step_thread::compute,
};

}  // namespace lacuna::analyzer
