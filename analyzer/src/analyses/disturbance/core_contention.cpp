// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/disturbance/core_contention.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyses/disturbance/thread_share.h"
#include "analyses/parts.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::ThreadId;
using prof::ThreadSpan;
using prof::ThreadState;
using prof::TimeNs;
using prof::TimeWindow;

/// A thread that wants a core less than this share of the time is none that others would wait for.
constexpr double kActive = 0.01;
constexpr std::size_t kLongestDisplaced = 5;

/// The use of the machine's cores by others than the program.
struct HostUse {
  ShareCurve recorder, idle;
};

/// The use of each thread's time, moment by moment: the share that it runs, and the share that it
/// waits for a core.
class Sweep {
 public:
  Sweep(TimeWindow window, std::uint32_t cores, const HostUse& host)
      : at_(window.startNs), window_(window), cores_(cores), host_(host) {}

  void passTo(TimeNs time) {
    const TimeNs to = std::clamp(time, at_, window_.endNs);
    while (at_ < to)
      passUnchanged(std::min(host_.recorder.changeAfter(at_, to), host_.idle.changeAfter(at_, to)));
  }
  void set(ThreadId thread, double runs, double waits) {
    Now& now = threads_[thread];
    if (!std::exchange(now.awake, true)) awake_.push_back(&now);
    running_ += runs - now.runs;
    waiting_ += waits - now.waits;
    active_ += (runs + waits > kActive ? 1 : 0) - (now.runs + now.waits > kActive ? 1 : 0);
    now.runs = runs;
    now.waits = waits;
  }
  [[nodiscard]] std::pair<double, double> of(ThreadId thread) {
    return {threads_[thread].runs, threads_[thread].waits};
  }

  CoreContention finish(const Store& store) {
    passTo(window_.endNs);
    CoreContention out;
    out.known = true;
    out.window = window_;
    for (auto& [thread, now] : threads_) {
      now.keepStretch();
      const DisplacedThread row{thread,
                                {},
                                prof::wholeOf<std::int64_t>(now.ranNs),
                                prof::wholeOf<std::int64_t>(now.lostNs),
                                now.longest};
      out.ranNs += row.ranNs;
      out.lostNs += row.lostNs;
      if (row.lostNs > 0) out.threads.push_back(row);
    }
    std::sort(out.threads.begin(), out.threads.end(),
              [](const DisplacedThread& a, const DisplacedThread& b) {
                return std::tuple(-a.lostNs, a.thread) < std::tuple(-b.lostNs, b.thread);
              });
    std::unordered_map<ThreadId, std::string_view> names;
    for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
      const auto thread = store.row<prof::Thread>(i);
      names[thread.id] = store.text(thread.name);
    }
    for (DisplacedThread& row : out.threads) row.name = names[row.thread];
    return out;
  }

 private:
  struct Now {
    double runs = 0, waits = 0;
    double ranNs = 0, lostNs = 0;
    bool awake = false;       // stands in awake_
    TimeWindow losing{0, 0};  // the stretch that goes on; empty when there is none
    std::vector<TimeWindow> longest;

    void keepStretch() {
      const auto length = [](const TimeWindow& w) { return w.endNs - w.startNs; };
      const TimeWindow stretch = std::exchange(losing, {0, 0});
      if (length(stretch) == 0) return;
      const auto at = std::find_if(longest.begin(), longest.end(),
                                   [&](const auto& w) { return length(w) < length(stretch); });
      longest.insert(at, stretch);
      if (longest.size() > kLongestDisplaced) longest.pop_back();
    }
  };

  void passUnchanged(TimeNs to) {
    const TimeNs from = at_;
    const auto ns = static_cast<double>(to - from);
    const double lost = std::max(0.0, lostCores(from) - host_.recorder.at(from));
    at_ = to;
    for (Now* now : awake_) {
      now->ranNs += now->runs * ns;
      const double share = waiting_ > 0 ? now->waits / waiting_ * lost : 0;
      now->lostNs += share * ns;
      if (share > kNoContention) {
        if (now->losing.startNs == now->losing.endNs) now->losing.startNs = from;
        now->losing.endNs = to;
      } else {
        now->keepStretch();
      }
      now->awake = now->runs != 0 || now->waits != 0;
    }
    std::erase_if(awake_, [](const Now* now) { return !now->awake; });
  }

  /// Cores' worth of waiting that the program's own threads cannot explain, as far as others had
  /// the cores. Threads wait for each other only when more of them want to run than there are
  /// cores. The figures are means over a stretch: at worst all threads want to run at the same
  /// moments. A thread also waits beside an idle core, until the scheduler moves it there.
  [[nodiscard]] double lostCores(TimeNs at) const {
    const double spare = std::max(0.0, cores_ - running_ - host_.idle.at(at));
    const double own = active_ <= cores_ ? 0 : (running_ + waiting_) * (active_ - cores_) / active_;
    return std::clamp(waiting_ - own, 0.0, spare);
  }

  std::unordered_map<ThreadId, Now> threads_;
  std::vector<Now*> awake_;  // those that run or wait, or did until time last passed
  TimeNs at_;
  TimeWindow window_;
  double cores_;
  const HostUse& host_;
  double running_ = 0, waiting_ = 0, active_ = 0;
};

/// The threads' states moment by moment, where they show both when a thread runs and when it could.
prof::Result<CoreContention> fromStates(const Store& store, TimeWindow window,
                                        const Selection& only, std::uint32_t cores,
                                        const HostUse& host) {
  struct End {
    TimeNs endNs;
    ThreadId thread;
    bool operator>(const End& other) const {
      return std::tie(endNs, thread) > std::tie(other.endNs, other.thread);
    }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Sweep sweep(window, cores, host);
  bool runs = false;
  const auto endUntil = [&](TimeNs time) {
    for (; !ends.empty() && ends.top().endNs <= time; ends.pop()) {
      sweep.passTo(ends.top().endNs);
      sweep.set(ends.top().thread, 0, 0);
    }
    sweep.passTo(time);
  };
  const auto status =
      store.scan<&ThreadSpan::startNs, &ThreadSpan::durNs, &ThreadSpan::thread, &ThreadSpan::state>(
          window, [&](std::uint64_t, auto start, auto dur, auto thread, auto state) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              const bool running = state[i] == ThreadState::Running;
              if ((!running && state[i] != ThreadState::Runnable) || !only.holds(thread[i]) ||
                  dur[i] <= 0)
                continue;
              if (start[i] >= window.endNs || start[i] + dur[i] <= window.startNs) continue;
              runs = runs || running;
              endUntil(start[i]);
              sweep.set(thread[i], running ? 1 : 0, running ? 0 : 1);
              ends.push({start[i] + dur[i], thread[i]});
            }
          });
  if (!status) return status.error();
  if (!runs) return CoreContention();
  endUntil(window.endNs);
  return sweep.finish(store);
}

prof::Result<CoreContention> fromCounters(const Store& store, TimeWindow window,
                                          const Selection& only, std::uint32_t cores,
                                          const HostUse& host) {
  struct Track {
    ThreadId thread;
    bool waits;
  };
  std::unordered_map<prof::TrackId, Track> tracks;
  bool hasStates = false;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    const std::string_view name = store.text(track.name);
    const bool waits = name == kWaitingForCore;
    if (!track.thread || !only.holds(track.thread) || (!waits && name != kThreadCpu)) continue;
    tracks[track.id] = {track.thread, waits};
    hasStates = hasStates || waits;
  }
  if (!hasStates) return CoreContention();
  std::vector<std::pair<TimeNs, ThreadId>> ends;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto thread = store.row<prof::Thread>(i);
    if (thread.endNs > 0) ends.emplace_back(thread.endNs, thread.id);
  }
  std::sort(ends.begin(), ends.end());
  auto ended = ends.begin();
  Sweep sweep(window, cores, host);
  using prof::CounterSample;
  const auto status =
      store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
          {INT64_MIN, window.endNs}, [&](std::uint64_t, auto time, auto track, auto value) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              const auto found = tracks.find(track[i]);
              if (found == tracks.end() || time[i] >= window.endNs) continue;
              for (; ended != ends.end() && ended->first <= time[i]; ++ended) {
                sweep.passTo(ended->first);
                sweep.set(ended->second, 0, 0);
              }
              sweep.passTo(time[i]);
              const auto [runs, waits] = sweep.of(found->second.thread);
              const double share = value[i] / 100;
              sweep.set(found->second.thread, found->second.waits ? runs : share,
                        found->second.waits ? share : waits);
            }
          });
  if (!status) return status.error();
  return sweep.finish(store);
}

/// From the first steady step to the end of the last; all of the run where there are none. Waits of
/// a thread while it imports and sets up show nothing of a step.
TimeWindow steadyStretch(const Analysis& analysis) {
  const std::vector<Step> steady = analysis.steps.steadyWithin(analysis.window);
  return steady.empty() ? analysis.window : TimeWindow{steady.front().startNs, steady.back().endNs};
}

}  // namespace

prof::Result<CoreContention> coreContention(const Store& store, TimeWindow window,
                                            const Selection& only, std::uint32_t hostCores) {
  if (hostCores == 0 || window.startNs >= window.endNs) return CoreContention();
  auto recorder = recorderUse(store), idle = idleCores(store);
  if (!recorder) return recorder.error();
  if (!idle) return idle.error();
  const HostUse host{*std::move(recorder), *std::move(idle)};
  auto found = fromStates(store, window, only, hostCores, host);
  if (!found || found->known) return found;
  return fromCounters(store, window, only, hostCores, host);
}

namespace of_contention {
namespace {

prof::Status compute(Analysis& analysis) {
  return keep(analysis, coreContention(*analysis.store, steadyStretch(analysis),
                                       analysis.scope.only, analysis.of<ProgramFacts>().hostCores));
}

}  // namespace
}  // namespace of_contention

constinit const AnalysisPart parts::contention{
    .name = "core contention",
    .compute = of_contention::compute,
};

}  // namespace lacuna::analyzer
